#include "ep/simulated_fabric.h"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace mixnet::ep {
namespace {

struct Killed {};  // unwinds the thread of a rank that was killed

enum class RankState : uint8_t { kReady, kWaiting, kStopped, kDone };

struct Delivery {
  Event event;
  int to = 0;
  std::optional<RemoteWrite> write;  // instead of the event
  bool operator<(const Delivery&) const = delete;
};

struct SimulatedRank {
  std::vector<std::byte> window;
  std::deque<Event> inbox;
  RankState state = RankState::kReady;
  Instant wake;         // kWaiting
  Instant resume;       // kStopped
  Instant still_since;  // kStopped or kDone: no heartbeat after this
  bool killed = false;
  bool cut_off = false;
  int in_flight = 0;  // writes
  std::vector<bool> abandoned;
};

class SimulatedFabric {
 public:
  SimulatedFabric(const SimulationOptions& options, std::vector<SimulatedFault> faults);
  void run(const std::function<void(Transport&)>& body);

  const SimulationOptions& options() const { return options_; }
  Instant now() const { return now_; }
  SimulatedRank& rank(int index) { return ranks_[at(index)]; }
  Health health(int of, int seen_by) const;

  bool flies(int from, int to) const;
  void send(int from, int rail, Delivery delivery);
  void wait(int self, Instant until);

 private:
  void thread_of(int self, const std::function<void(Transport&)>& body);
  void pass_on(int self, std::unique_lock<std::mutex>& lock);
  int choose();
  void advance_clock();
  void deliver_due();
  void strike_due();
  void strike(const SimulatedFault& fault);
  void wake_if_due(SimulatedRank& rank);
  bool all_done() const;

  SimulationOptions options_;
  std::vector<SimulatedFault> faults_;  // by time
  std::size_t next_fault_ = 0;
  RandomStream random_;
  Instant now_;
  std::vector<SimulatedRank> ranks_;
  // Keys: time, then order of sending.
  std::map<std::pair<Instant, uint64_t>, Delivery> flying_;
  std::map<std::tuple<int, int, int>, Instant> latest_;  // from, to, rail: of the last delivery
  uint64_t sent_ = 0;

  std::mutex mutex_;                            // held by the running thread while it runs in here
  std::vector<std::condition_variable> turns_;  // [rank], so that a turn wakes one thread
  int running_ = -1;
};

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(SimulatedFabric& fabric, int self) : fabric_(fabric), self_(self) {}

  const RankMap& ranks() const override { return fabric_.options().ranks; }
  int rank() const override { return self_; }
  int rails() const override { return fabric_.options().rails; }
  uint64_t largest_message() const override { return fabric_.options().largest_message; }

  Window window() override {
    auto& bytes = fabric_.rank(self_).window;
    return {host_address(bytes.data()), bytes.size()};
  }
  Address mapped(int peer) override {
    return ranks().same_host(self_, peer) ? host_address(fabric_.rank(peer).window.data())
                                          : Address{};
  }

  void post(int peer, std::span<const std::byte> message) override {
    CHECK(message.size() <= largest_message(), "a message is at most largest_message() long");
    Event event{Event::Kind::kMessage, self_, kInsideHost, 0, {message.begin(), message.end()}};
    fabric_.send(self_, kInsideHost, Delivery{std::move(event), peer, {}});
  }
  void write(const RemoteWrite& write) override {
    CHECK(write.rail >= 0 && write.rail < rails(), "write() names a NIC");
    ++fabric_.rank(self_).in_flight;
    fabric_.send(
        self_, write.rail,
        Delivery{Event{Event::Kind::kNothing, self_, write.rail, 0, {}}, write.peer, write});
  }
  void signal(int peer, int rail, uint32_t immediate) override {
    fabric_.send(self_, rail,
                 Delivery{Event{Event::Kind::kSignal, self_, rail, immediate, {}}, peer, {}});
  }
  bool drained() override { return fabric_.rank(self_).in_flight == 0; }

  Event poll() override {
    auto& inbox = fabric_.rank(self_).inbox;
    while (!inbox.empty()) {
      Event event = std::move(inbox.front());
      inbox.pop_front();
      if (!fabric_.rank(self_).abandoned[at(event.peer)]) {
        return event;
      }
    }
    return {};
  }
  void wait(Instant until) override { fabric_.wait(self_, until); }
  Instant now() override { return fabric_.now(); }
  Health health(int peer) override { return fabric_.health(peer, self_); }
  void abandon(int peer) override { fabric_.rank(self_).abandoned[at(peer)] = true; }

 private:
  SimulatedFabric& fabric_;
  int self_;
};

SimulatedFabric::SimulatedFabric(const SimulationOptions& options,
                                 std::vector<SimulatedFault> faults)
    : options_(options),
      faults_(std::move(faults)),
      random_(options.seed, "simulated fabric"),
      ranks_(at(options.ranks.ranks())),
      turns_(at(options.ranks.ranks())) {
  std::stable_sort(faults_.begin(), faults_.end(),
                   [](const auto& a, const auto& b) { return a.after < b.after; });
  for (SimulatedRank& rank : ranks_) {
    rank.window.resize(options.window_bytes);
    rank.abandoned.resize(ranks_.size());
  }
}

Health SimulatedFabric::health(int of, int seen_by) const {
  const SimulatedRank& rank = ranks_[at(of)];
  const bool inside = options_.ranks.same_host(of, seen_by);
  Health health;
  health.gone = rank.state == RankState::kDone && (inside || !rank.cut_off) && !flies(of, seen_by);
  const bool silent = rank.state == RankState::kDone || rank.state == RankState::kStopped ||
                      (!inside && (rank.cut_off || ranks_[at(seen_by)].cut_off));
  const Instant last = silent ? rank.still_since : now_;
  health.heard = Instant((last.time_since_epoch() / options_.beat) * options_.beat);
  return health;
}

// The end of a process is noticed after what it sent before.
bool SimulatedFabric::flies(int from, int to) const {
  return std::any_of(flying_.begin(), flying_.end(), [&](const auto& entry) {
    return entry.second.event.peer == from && entry.second.to == to;
  });
}

void SimulatedFabric::send(int from, int rail, Delivery delivery) {
  const int to = delivery.to;
  const bool outside = !options_.ranks.same_host(from, to);
  if (ranks_[at(from)].abandoned[at(to)] ||
      (outside && (ranks_[at(from)].cut_off || ranks_[at(to)].cut_off))) {
    if (delivery.write) {
      --ranks_[at(from)].in_flight;
    }
    return;
  }
  const Duration delay(
      static_cast<int64_t>(random_.below(static_cast<uint64_t>(options_.delay.count()) + 1)));
  Instant& latest = latest_[{from, to, rail}];
  latest = std::max(latest, now_ + delay);
  flying_.emplace(std::pair(latest, sent_++), std::move(delivery));
}

void SimulatedFabric::wait(int self, Instant until) {
  SimulatedRank& rank = ranks_[at(self)];
  std::unique_lock lock(mutex_);
  rank.state = rank.inbox.empty() ? RankState::kWaiting : RankState::kReady;
  rank.wake = until;
  pass_on(self, lock);
  turns_[at(self)].wait(lock, [&] { return running_ == self; });
  if (rank.killed) {
    throw Killed{};
  }
}

// One thread at a time runs: passing on to another processor would only cost time.
void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(at(processor), &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));  // without it, slower
}

void SimulatedFabric::run(const std::function<void(Transport&)>& body) {
  const int processor = sched_getcpu();
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    for (int self = 0; self < static_cast<int>(ranks_.size()); ++self) {
      threads.emplace_back([this, self, processor, &body] {
        stay_on(processor);
        thread_of(self, body);
      });
    }
    running_ = choose();
    turns_[at(running_)].notify_one();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void SimulatedFabric::thread_of(int self, const std::function<void(Transport&)>& body) {
  {
    std::unique_lock lock(mutex_);
    turns_[at(self)].wait(lock, [&] { return running_ == self; });
  }
  SimulatedTransport transport(*this, self);
  try {
    if (!ranks_[at(self)].killed) {
      body(transport);
    }
  } catch (const Killed&) {  // the end of its process
  }
  std::unique_lock lock(mutex_);
  ranks_[at(self)].state = RankState::kDone;
  ranks_[at(self)].still_since = now_;
  if (all_done()) {
    running_ = -1;
    return;
  }
  pass_on(self, lock);
}

void SimulatedFabric::pass_on(int self, std::unique_lock<std::mutex>& lock) {
  CHECK(lock.owns_lock(), "the running thread holds the lock");
  const int next = choose();
  if (next != self || ranks_[at(self)].state == RankState::kDone) {
    running_ = next;
    turns_[at(next)].notify_one();
  }
}

// Advances the clock until some rank can run.
int SimulatedFabric::choose() {
  while (true) {
    strike_due();
    deliver_due();
    std::vector<int> ready;
    for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
      wake_if_due(ranks_[at(index)]);
      if (ranks_[at(index)].state == RankState::kReady) {
        ready.push_back(index);
      }
    }
    if (!ready.empty()) {
      return ready[random_.below(ready.size())];
    }
    advance_clock();
  }
}

void SimulatedFabric::advance_clock() {
  Instant next = Instant::max();
  for (const SimulatedRank& rank : ranks_) {
    if (rank.state == RankState::kWaiting) {
      next = std::min(next, rank.wake);
    } else if (rank.state == RankState::kStopped) {
      next = std::min(next, rank.resume);
    }
  }
  if (!flying_.empty()) {
    next = std::min(next, flying_.begin()->first.first);
  }
  if (next_fault_ < faults_.size()) {
    next = std::min(next, Instant(faults_[next_fault_].after));
  }
  if (next == Instant::max()) {  // only ranks that stand still for ever are left
    for (SimulatedRank& rank : ranks_) {
      if (rank.state == RankState::kStopped) {
        rank.killed = true;
        rank.state = RankState::kReady;
      }
    }
    return;
  }
  now_ = std::max(now_, next);
}

void SimulatedFabric::deliver_due() {
  while (!flying_.empty() && flying_.begin()->first.first <= now_) {
    Delivery delivery = std::move(flying_.begin()->second);
    flying_.erase(flying_.begin());
    SimulatedRank& to = ranks_[at(delivery.to)];
    SimulatedRank& from = ranks_[at(delivery.event.peer)];
    const bool wanted = !to.abandoned[at(delivery.event.peer)] && to.state != RankState::kDone;
    // A process that ended before its bytes left never sent them, nor what was to follow them.
    const bool sent = from.state != RankState::kDone || delivery.event.rail == kInsideHost;
    if (delivery.write) {
      --from.in_flight;
      if (from.state == RankState::kWaiting) {
        from.wake = now_;
      }
      const RemoteWrite& write = *delivery.write;
      CHECK(write.offset + write.bytes <= to.window.size(), "write() stays inside the window");
      if (wanted && sent && write.bytes > 0) {
        std::memcpy(to.window.data() + write.offset, write.from.data, write.bytes);
      }
    } else if (wanted && sent) {
      to.inbox.push_back(std::move(delivery.event));
    }
  }
}

void SimulatedFabric::strike_due() {
  while (next_fault_ < faults_.size() && Instant(faults_[next_fault_].after) <= now_) {
    strike(faults_[next_fault_++]);
  }
}

void SimulatedFabric::strike(const SimulatedFault& fault) {
  SimulatedRank& rank = ranks_[at(fault.rank)];
  if (rank.state == RankState::kDone) {
    return;
  }
  switch (fault.kind) {
    case SimulatedFault::Kind::kKill:
      rank.killed = true;
      rank.state = RankState::kReady;
      return;
    case SimulatedFault::Kind::kStop:
      rank.state = RankState::kStopped;
      rank.still_since = now_;
      rank.resume = fault.lasts == Duration::max() ? Instant::max() : now_ + fault.lasts;
      return;
    case SimulatedFault::Kind::kCutOff:
      rank.cut_off = true;
      rank.still_since = now_;
      return;
  }
}

void SimulatedFabric::wake_if_due(SimulatedRank& rank) {
  const bool rested = rank.state == RankState::kStopped && rank.resume <= now_;
  const bool called =
      rank.state == RankState::kWaiting && (rank.wake <= now_ || !rank.inbox.empty());
  if (rested || called) {
    rank.state = RankState::kReady;
  }
}

bool SimulatedFabric::all_done() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank.state == RankState::kDone; });
}

}  // namespace

void run_simulated(const SimulationOptions& options, const std::vector<SimulatedFault>& faults,
                   const std::function<void(Transport&)>& body) {
  SimulatedFabric fabric(options, faults);
  fabric.run(body);
}

}  // namespace mixnet::ep
