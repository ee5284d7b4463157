#include "ep/point_to_point.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ep/chunk_mover.h"
#include "ep/collective_input.h"
#include "ep/exchange_plan.h"
#include "ep/message.h"

namespace mixnet::ep {
namespace {

// kOfferBytes:    serial, bytes, place in the sender's window, why it cannot send (or empty)
// kGrant:    serial, place in the receiver's window
// kDone:     serial
// kRefuse:   serial, why; from the receiver
// kWithdraw: serial; from the sender
enum DirectKind : uint8_t { kOfferBytes, kGrant, kDone, kRefuse, kWithdraw };

constexpr uint32_t kSerialTags = 1u << (32 - Attempt::kSubjectBits);

MessageWriter direct_message(DirectKind kind, uint32_t serial) {
  MessageWriter message;
  message.put(Attempt::kDirectNumber);
  message.put(kind);
  message.put(serial);
  return message;
}

std::pair<DirectKind, uint32_t> head_of(const Event& event) {
  MessageReader reader(event.message);
  reader.get<uint64_t>();
  const auto kind = reader.get<DirectKind>();
  return {kind, reader.get<uint32_t>()};
}

struct TransferOffer {
  uint32_t serial = 0;
  uint64_t bytes = 0;
  uint64_t place = 0;
  std::string refusal;
};

class DirectTransfer {
 public:
  DirectTransfer(ExchangeState& state, std::optional<Outgoing> out, std::optional<Incoming> in)
      : state_(state),
        transport_(state.endpoint.transport),
        out_(out),
        in_(in),
        source_(state),
        signals_(at(std::max(1, transport_.rails()))) {}

  Status run();

 private:
  std::string bad_peer(int peer) const;
  std::string bad_arguments() const;
  void offer();
  void take_in();
  void count_signal(const Event& event);
  void forget_withdrawn();
  bool hear(int peer, MessageReader& reader);
  void hear_of_sending(DirectKind kind, MessageReader& reader);
  void write_all(uint64_t place);
  void accept(TransferOffer offer);
  void fetch();
  void finish_receiving();
  void refuse(const std::string& to_peer, const std::string& here);
  bool overdue(int peer, Instant& next);
  void give_up();
  void post(int peer, const MessageWriter& message) { transport_.post(peer, message.bytes()); }
  void fail(std::string why) { error_ = error_.empty() ? std::move(why) : error_; }

  ExchangeState& state_;
  Transport& transport_;
  std::optional<Outgoing> out_;  // empty: sent
  std::optional<Incoming> in_;   // empty: received
  std::string error_;
  Instant late_;
  CollectiveInput source_;
  uint32_t serial_ = 0;   // of what is sent
  bool refused_ = false;  // it, by the receiver
  std::optional<TransferOffer> offer_;
  std::optional<uint64_t> block_;  // where it comes in from another host
  std::vector<uint64_t> signals_;  // [rail]
  uint64_t fetched_ = 0;           // chunks
};

Status DirectTransfer::run() {
  if (std::string bad = bad_arguments(); !bad.empty()) {
    return Error{bad, {}};
  }
  late_ = transport_.now() + state_.patience.call;
  if (out_) {
    offer();
  }
  while (true) {
    take_in();
    if (!error_.empty()) {
      give_up();
      return Error{error_, {}};
    }
    if (!out_ && !in_) {
      return {};
    }
    Instant next = late_;
    if ((out_ && overdue(out_->to, next)) || (in_ && overdue(in_->from, next))) {
      continue;
    }
    transport_.wait(next);
  }
}

std::string DirectTransfer::bad_peer(int peer) const {
  if (peer < 0 || peer >= state_.endpoint.ranks() || peer == state_.endpoint.self()) {
    return "there is no peer of rank " + std::to_string(peer);
  }
  return state_.endpoint.lost.has(peer) ? "rank " + std::to_string(peer) + " is lost" : "";
}

std::string DirectTransfer::bad_arguments() const {
  std::string bad;
  if (out_) {
    bad = bad_peer(out_->to);
    if (bad.empty() && out_->bytes > 0 && !out_->data) {
      bad = "the data to send is null";
    }
  }
  if (in_ && bad.empty()) {
    bad = bad_peer(in_->from);
    if (bad.empty() && in_->bytes > 0 && !in_->data) {
      bad = "the place to receive at is null";
    }
  }
  return bad;
}

void DirectTransfer::offer() {
  serial_ = ++state_.endpoint.sends;
  const std::string lacking = source_.place(out_->data, out_->bytes);
  MessageWriter message = direct_message(kOfferBytes, serial_);
  message.put(out_->bytes);
  message.put(source_.offset());
  message.put_text(lacking);
  post(out_->to, message);
  if (!lacking.empty()) {
    fail("send to rank " + std::to_string(out_->to) + " " + lacking);
  }
}

void DirectTransfer::take_in() {
  while (true) {
    Event event = transport_.poll();
    if (event.kind == Event::Kind::kNothing) {
      break;
    }
    if (!Attempt::is_direct(event)) {
      state_.endpoint.early.push_back(std::move(event));
    } else if (event.kind == Event::Kind::kSignal) {
      count_signal(event);
    } else {
      state_.endpoint.direct.push_back(std::move(event));
    }
  }
  forget_withdrawn();
  std::vector<Event> messages;
  messages.swap(state_.endpoint.direct);
  for (Event& message : messages) {
    MessageReader reader(message.message);
    if (!state_.endpoint.lost.has(message.peer) && !hear(message.peer, reader)) {
      state_.endpoint.direct.push_back(std::move(message));
    }
  }
  if (offer_ && in_ && error_.empty()) {
    fetch();
  }
}

void DirectTransfer::count_signal(const Event& event) {
  if (in_ && offer_ && event.peer == in_->from &&
      event.immediate >> Attempt::kSubjectBits == offer_->serial % kSerialTags) {
    ++signals_[at(event.rail)];
  }
}

// Offers that were taken back before anybody asked for them.
void DirectTransfer::forget_withdrawn() {
  std::set<std::pair<int, uint32_t>> withdrawn;
  for (const Event& event : state_.endpoint.direct) {
    const auto [kind, serial] = head_of(event);
    if (kind == kWithdraw) {
      withdrawn.emplace(event.peer, serial);
    }
  }
  std::erase_if(state_.endpoint.direct, [&](const Event& event) {
    const auto [kind, serial] = head_of(event);
    return kind == kOfferBytes && withdrawn.contains({event.peer, serial});
  });
}

// False: it is an offer for a later receive().
bool DirectTransfer::hear(int peer, MessageReader& reader) {
  reader.get<uint64_t>();
  const auto kind = reader.get<DirectKind>();
  TransferOffer offer;
  offer.serial = reader.get<uint32_t>();
  if (kind == kOfferBytes) {
    if (!in_ || peer != in_->from || offer_) {
      return false;
    }
    offer.bytes = reader.get<uint64_t>();
    offer.place = reader.get<uint64_t>();
    offer.refusal = reader.get_text();
    if (reader.finished()) {
      accept(std::move(offer));
    }
  } else if (kind == kWithdraw) {
    if (in_ && offer_ && peer == in_->from && offer_->serial == offer.serial) {
      fail("rank " + std::to_string(peer) + " gave up its send to this rank");
    }
  } else if (out_ && peer == out_->to && offer.serial == serial_) {
    hear_of_sending(kind, reader);
  }
  return true;
}

void DirectTransfer::hear_of_sending(DirectKind kind, MessageReader& reader) {
  late_ = transport_.now() + state_.patience.call;
  if (kind == kGrant) {
    const auto place = reader.get<uint64_t>();
    if (reader.finished()) {
      write_all(place);
    }
  } else if (kind == kDone) {
    out_.reset();
  } else if (kind == kRefuse) {
    refused_ = true;
    fail("send: rank " + std::to_string(out_->to) + " " + reader.get_text());
  }
}

void DirectTransfer::write_all(uint64_t place) {
  const auto rails = static_cast<uint64_t>(rails_for(out_->bytes, transport_.rails()));
  const uint32_t immediate = serial_ % kSerialTags << Attempt::kSubjectBits | Attempt::kSubjects;
  const Address from = transport_.window().base + source_.offset();
  for (uint64_t first = 0; first < out_->bytes; first += kChunkBytes) {
    const uint64_t bytes = std::min(kChunkBytes, out_->bytes - first);
    const auto rail = static_cast<int>(first / kChunkBytes % rails);
    transport_.write(RemoteWrite{out_->to, rail, from + first, bytes, place + first});
    transport_.signal(out_->to, rail, immediate);
    state_.traffic.nic_bytes[at(rail)] += static_cast<int64_t>(bytes);
  }
}

void DirectTransfer::accept(TransferOffer offer) {
  late_ = transport_.now() + state_.patience.call;
  offer_ = std::move(offer);
  const std::string sender = "receive: rank " + std::to_string(in_->from);
  if (!offer_->refusal.empty()) {
    fail(sender + " " + offer_->refusal);
  } else if (offer_->bytes != in_->bytes) {
    const std::string here = std::to_string(in_->bytes);
    const std::string there = std::to_string(offer_->bytes);
    refuse("receives " + here + " bytes, not " + there,
           sender + " sends " + there + " bytes, not " + here);
  } else if (in_->bytes > 0 && !transport_.mapped(in_->from)) {
    block_ = state_.endpoint.memory->allocate(in_->bytes);
    if (!block_) {
      const std::string lacking = lacks_room(state_, in_->bytes);
      refuse(lacking, "receive from rank " + std::to_string(in_->from) + " " + lacking);
      return;
    }
    MessageWriter message = direct_message(kGrant, offer_->serial);
    message.put(*block_);
    post(in_->from, message);
  }
}

void DirectTransfer::fetch() {
  if (!block_) {
    if (in_->bytes > 0) {
      state_.copies.copy(in_->data, transport_.mapped(in_->from) + offer_->place, in_->bytes);
    }
    finish_receiving();
    return;
  }
  const auto rails = static_cast<uint64_t>(rails_for(in_->bytes, transport_.rails()));
  const Address from = transport_.window().base + *block_;
  while (fetched_ * kChunkBytes < in_->bytes && signals_[fetched_ % rails] > fetched_ / rails) {
    const uint64_t first = fetched_++ * kChunkBytes;
    state_.copies.copy(in_->data + first, from + first, std::min(kChunkBytes, in_->bytes - first));
    late_ = transport_.now() + state_.patience.call;
  }
  if (fetched_ * kChunkBytes >= in_->bytes) {
    state_.endpoint.memory->release(*block_);
    finish_receiving();
  }
}

void DirectTransfer::finish_receiving() {
  post(in_->from, direct_message(kDone, offer_->serial));
  in_.reset();
  block_.reset();
}

void DirectTransfer::refuse(const std::string& to_peer, const std::string& here) {
  MessageWriter message = direct_message(kRefuse, offer_->serial);
  message.put_text(to_peer);
  post(in_->from, message);
  offer_.reset();
  fail(here);
}

// Or says when it may next become so. True: there is more to read, or it fails.
bool DirectTransfer::overdue(int peer, Instant& next) {
  const Health health = transport_.health(peer);
  const Instant now = transport_.now();
  const std::string name = "rank " + std::to_string(peer);
  if (health.gone) {
    take_in();  // what it sent before it ended counts
    const bool waits = (out_ && out_->to == peer) || (in_ && in_->from == peer);
    if (waits) {
      fail(name + " ended before the transfer did");
    }
    return true;
  }
  if (now >= health.heard + state_.patience.silence) {
    fail(name + " has given no sign of life for longer than the patience");
    return true;
  }
  if (now >= late_) {
    fail(name + " lives but did not come to this transfer within the patience for a call");
    return true;
  }
  next = std::min(next, health.heard + state_.patience.silence);
  return false;
}

// What a peer may still read from or write to is never used again.
void DirectTransfer::give_up() {
  if (out_) {
    post(out_->to, direct_message(kWithdraw, serial_));
    if (!refused_ && !transport_.health(out_->to).gone) {
      source_.retire();
    }
  }
  if (in_ && offer_) {
    MessageWriter message = direct_message(kRefuse, offer_->serial);
    message.put_text("gave up its receive");
    post(in_->from, message);
  }
  if (block_ && transport_.health(in_->from).gone) {
    state_.endpoint.memory->release(*block_);
  } else if (block_) {
    state_.endpoint.memory->retire(*block_);
  }
}

}  // namespace

Status send(ExchangeState& state, const Outgoing& outgoing) {
  return DirectTransfer(state, outgoing, std::nullopt).run();
}

Status receive(ExchangeState& state, const Incoming& incoming) {
  return DirectTransfer(state, std::nullopt, incoming).run();
}

Status send_receive(ExchangeState& state, const Outgoing& outgoing, const Incoming& incoming) {
  return DirectTransfer(state, outgoing, incoming).run();
}

}  // namespace mixnet::ep
