#include "net/memory_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

constexpr Direction opposite(Direction direction) {
  return direction == Direction::kToListener ? Direction::kToDialer : Direction::kToListener;
}

}  // namespace

// Both ends and what is on the way between them. Owned by the handles of the ends; timers hold it
// weakly.
class MemoryNetwork::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(MemoryNetwork& network, ConnectionPlan plan, const std::string& listener,
             const std::string& dialer)
      : network_(network), plan_(std::move(plan)) {
    to(Direction::kToListener).peer = dialer;
    to(Direction::kToDialer).peer = listener;
  }

  void connect(const std::string& address, StreamEvents& events, Duration deadline);
  void send(Direction direction, std::string_view bytes);
  // The end that sends in this direction closes; what it sent before arrives.
  void close(Direction direction);
  void strike(const StreamFault& fault);

 private:
  // One direction: what is on the way, and who is at its end.
  struct Pipe {
    std::string peer;                // as the receiver calls the sender
    StreamEvents* events = nullptr;  // of the receiver
    bool open = false;               // the receiver hears of what happens
    std::deque<std::string> pieces;  // on the way; an empty one is the close
    std::size_t bytes_on_way = 0;
    Instant last_due;  // of the last piece
    Instant stalled_until;
    uint64_t delivered = 0;
  };

  Pipe& to(Direction direction) { return pipes_[direction == Direction::kToListener ? 0 : 1]; }
  void call_at(Instant when, void (Connection::*step)(Direction), Direction direction);
  void arrive(Direction direction);   // of the dial, at the listener
  void opened(Direction direction);   // at the dialer
  void give_up(Direction direction);  // the dial was not answered in time
  void refuse(Direction direction);
  void overflow(Direction direction);
  void put(Direction direction, std::string piece);
  void deliver(Direction direction);
  std::size_t room_before_fault(Direction direction) const;
  void fire_due_faults(Direction direction);
  void end(Direction receiver, std::string_view what);

  MemoryNetwork& network_;
  ConnectionPlan plan_;
  Pipe pipes_[2];
  std::string address_;
  Duration deadline_{0};
  TimerId deadline_timer_ = 0;
  bool vanished_ = false;
};

// One end; it sends in `direction`.
class MemoryNetwork::Handle final : public Stream {
 public:
  Handle(std::shared_ptr<Connection> connection, Direction direction)
      : connection_(std::move(connection)), direction_(direction) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() override { connection_->close(direction_); }

  void send(std::string_view bytes) override { connection_->send(direction_, bytes); }
  void close() override { connection_->close(direction_); }

 private:
  std::shared_ptr<Connection> connection_;
  Direction direction_;
};

class MemoryNetwork::MemoryDialer final : public Dialer {
 public:
  MemoryDialer(MemoryNetwork& network, std::string address)
      : network_(network), address_(std::move(address)) {}

  std::unique_ptr<Stream> dial(StreamEvents& events, Duration deadline) override {
    return network_.dial(address_, events, deadline);
  }
  std::string peer() const override { return address_; }

 private:
  MemoryNetwork& network_;
  std::string address_;
};

void MemoryNetwork::Connection::call_at(Instant when, void (Connection::*step)(Direction),
                                        Direction direction) {
  network_.loop_.call_at(when, [weak = weak_from_this(), step, direction] {
    if (const auto self = weak.lock()) {
      (*self.*step)(direction);
    }
  });
}

void MemoryNetwork::Connection::connect(const std::string& address, StreamEvents& events,
                                        Duration deadline) {
  address_ = address;
  deadline_ = deadline;
  to(Direction::kToDialer).events = &events;
  to(Direction::kToDialer).open = true;
  const Instant now = network_.loop_.now();
  deadline_timer_ = network_.loop_.call_at(now + deadline, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->give_up(Direction::kToDialer);
    }
  });
  if (plan_.connect == ConnectionPlan::Connect::kAccept) {
    call_at(now + network_.latency(), &Connection::arrive, Direction::kToListener);
  } else if (plan_.connect == ConnectionPlan::Connect::kRefuse) {
    call_at(now + network_.latency() + network_.latency(), &Connection::refuse,
            Direction::kToDialer);
  }
}

void MemoryNetwork::Connection::arrive(Direction direction) {
  if (!to(Direction::kToDialer).open) {
    return;  // the dialer has gone
  }
  const Instant now = network_.loop_.now();
  const auto listener = network_.listeners_.find(address_);
  if (listener == network_.listeners_.end()) {
    call_at(now + network_.latency(), &Connection::refuse, Direction::kToDialer);
    return;
  }
  Pipe& pipe = to(direction);
  // Before what the listener sends: it arrives first.
  const Instant open = now + network_.latency();
  to(Direction::kToDialer).last_due = open;
  call_at(open, &Connection::opened, Direction::kToDialer);
  pipe.open = true;  // before the acceptor gets the stream, which it may close at once
  pipe.events = &listener->second->accept(
      std::make_unique<Handle>(shared_from_this(), Direction::kToDialer), pipe.peer);
  if (pipe.open) {
    pipe.events->on_open();
  }
}

void MemoryNetwork::Connection::opened(Direction direction) {
  network_.loop_.cancel(std::exchange(deadline_timer_, 0));
  if (!to(direction).open) {
    return;
  }
  to(direction).events->on_open();
  fire_due_faults(Direction::kToListener);
  fire_due_faults(Direction::kToDialer);
}

void MemoryNetwork::Connection::give_up(Direction direction) {
  deadline_timer_ = 0;
  if (std::exchange(to(direction).open, false)) {
    put(opposite(direction), "");
    to(direction).events->on_closed(no_connection_within(to(direction).peer, deadline_));
  }
}

void MemoryNetwork::Connection::refuse(Direction direction) {
  network_.loop_.cancel(std::exchange(deadline_timer_, 0));
  end(direction, kRefusedText);
}

void MemoryNetwork::Connection::overflow(Direction direction) {
  put(opposite(direction), "");
  end(direction, queue_full_text());
}

void MemoryNetwork::Connection::send(Direction direction, std::string_view bytes) {
  if (!to(opposite(direction)).open) {
    return;  // this end is closed
  }
  Pipe& pipe = to(direction);
  if (pipe.bytes_on_way + bytes.size() > kMaxQueuedBytes) {
    call_at(network_.loop_.now(), &Connection::overflow, opposite(direction));
    return;
  }
  while (!bytes.empty()) {
    const std::size_t piece = network_.piece(bytes.size());
    put(direction, std::string(bytes.substr(0, piece)));
    bytes.remove_prefix(piece);
  }
}

void MemoryNetwork::Connection::close(Direction direction) {
  if (std::exchange(to(opposite(direction)).open, false)) {
    put(direction, "");
  }
}

void MemoryNetwork::Connection::put(Direction direction, std::string piece) {
  Pipe& pipe = to(direction);
  pipe.last_due = std::max(pipe.last_due, network_.loop_.now() + network_.latency());
  pipe.bytes_on_way += piece.size();
  pipe.pieces.push_back(std::move(piece));
  call_at(pipe.last_due, &Connection::deliver, direction);
}

void MemoryNetwork::Connection::deliver(Direction direction) {
  Pipe& pipe = to(direction);
  if (pipe.pieces.empty()) {
    return;  // lost to a fault
  }
  if (network_.loop_.now() < pipe.stalled_until) {
    call_at(pipe.stalled_until, &Connection::deliver, direction);
    return;
  }
  std::string piece = std::move(pipe.pieces.front());
  pipe.pieces.pop_front();
  pipe.bytes_on_way -= piece.size();
  if (vanished_ || !pipe.open) {
    return;
  }
  if (piece.empty()) {
    end(direction, kClosedByPeerText);
    return;
  }
  const std::size_t room = room_before_fault(direction);
  if (room < piece.size()) {
    pipe.bytes_on_way += piece.size() - room;
    pipe.pieces.push_front(piece.substr(room));
    piece.resize(room);
    call_at(network_.loop_.now(), &Connection::deliver, direction);
  }
  pipe.delivered += piece.size();
  pipe.events->on_bytes(piece);
  fire_due_faults(direction);
}

// How many bytes come before the next fault.
std::size_t MemoryNetwork::Connection::room_before_fault(Direction direction) const {
  const uint64_t delivered = pipes_[direction == Direction::kToListener ? 0 : 1].delivered;
  uint64_t room = kMaxQueuedBytes;
  for (const StreamFault& fault : plan_.faults) {
    if (fault.direction == direction && fault.after_bytes > delivered) {
      room = std::min(room, fault.after_bytes - delivered);
    }
  }
  return room;
}

void MemoryNetwork::Connection::fire_due_faults(Direction direction) {
  const uint64_t delivered = to(direction).delivered;
  const auto due = [&](const StreamFault& fault) {
    return fault.direction == direction && fault.after_bytes <= delivered;
  };
  for (auto fault = std::ranges::find_if(plan_.faults, due); fault != plan_.faults.end();
       fault = std::ranges::find_if(plan_.faults, due)) {
    const StreamFault fired = *fault;
    plan_.faults.erase(fault);
    strike(fired);
  }
}

void MemoryNetwork::Connection::strike(const StreamFault& fault) {
  switch (fault.kind) {
    case StreamFault::Kind::kReset:
    case StreamFault::Kind::kFin:
      for (Pipe& pipe : pipes_) {
        pipe.pieces.clear();
        pipe.bytes_on_way = 0;
      }
      end(fault.direction, fault.kind == StreamFault::Kind::kFin ? kClosedByPeerText : kResetText);
      end(opposite(fault.direction), kResetText);
      break;
    case StreamFault::Kind::kVanish:
      vanished_ = true;
      break;
    case StreamFault::Kind::kStall:
      to(fault.direction).stalled_until = network_.loop_.now() + fault.stall;
      break;
  }
}

// The receiver of this direction hears that the stream is closed, unless it closed it itself.
void MemoryNetwork::Connection::end(Direction receiver, std::string_view what) {
  Pipe& pipe = to(receiver);
  if (std::exchange(pipe.open, false)) {
    pipe.events->on_closed(closed(pipe.peer, what));
  }
}

MemoryNetwork::MemoryNetwork(Loop& loop, MemoryNetworkOptions options)
    : loop_(loop), options_(options), random_(options.seed, "memory-network") {
  CHECK(options.least_latency <= options.most_latency, "the least latency is above the most");
}

MemoryNetwork::~MemoryNetwork() = default;

void MemoryNetwork::listen(const std::string& address, StreamAcceptor& acceptor) {
  listeners_[address] = &acceptor;
}

void MemoryNetwork::unlisten(const std::string& address) { listeners_.erase(address); }

std::unique_ptr<Dialer> MemoryNetwork::dialer(const std::string& address) {
  return std::make_unique<MemoryDialer>(*this, address);
}

void MemoryNetwork::plan_next(ConnectionPlan plan) { plans_.push_back(std::move(plan)); }

void MemoryNetwork::set_default(ConnectionPlan plan) { default_ = std::move(plan); }

void MemoryNetwork::strike(const StreamFault& fault) {
  const std::vector<std::weak_ptr<Connection>> connections = connections_;
  for (const auto& weak : connections) {
    if (const auto connection = weak.lock()) {
      connection->strike(fault);
    }
  }
}

std::unique_ptr<Stream> MemoryNetwork::dial(const std::string& address, StreamEvents& events,
                                            Duration deadline) {
  ConnectionPlan plan = default_;
  if (!plans_.empty()) {
    plan = std::move(plans_.front());
    plans_.pop_front();
  }
  ++dialled_;
  auto connection = std::make_shared<Connection>(*this, std::move(plan), address,
                                                 fmt::format("client {}", dialled_));
  std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  connections_.push_back(connection);
  connection->connect(address, events, deadline);
  return std::make_unique<Handle>(std::move(connection), Direction::kToListener);
}

Duration MemoryNetwork::latency() {
  const auto spread =
      static_cast<uint64_t>((options_.most_latency - options_.least_latency).count());
  return options_.least_latency + Duration(static_cast<int64_t>(random_.below(spread + 1)));
}

std::size_t MemoryNetwork::piece(std::size_t bytes) {
  if (options_.max_piece == 0) {
    return bytes;
  }
  return std::min<std::size_t>(bytes, 1 + random_.below(options_.max_piece));
}

}  // namespace mixnet::net
