#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/agreement.h"
#include "ep/declaration.h"
#include "ep/message.h"
#include "ep/transport.h"
#include "ep/window_allocator.h"

namespace mixnet::ep {

// How long a rank waits for others.
struct Patience {
  // A peer without any sign of life for so long is lost. Its heartbeats go on while it computes.
  Duration silence = std::chrono::seconds(2);
  // A peer that lives but does not come into the call, or does not send what this rank waits for,
  // is lost after so long.
  Duration call = std::chrono::seconds(100);
};

// What outlives a call: the way to the others, the window, who is lost, and what came in early.
// Attempts are numbered alike on all survivors, since they agree on how each one ended.
struct Endpoint {
  explicit Endpoint(Transport& way);

  int ranks() const { return transport.ranks().ranks(); }
  int self() const { return transport.rank(); }

  Transport& transport;
  std::shared_ptr<WindowMemory> memory;
  RankSet lost;
  RankSet excluded;          // to be lost in the next call
  uint64_t attempts = 0;     // number of the latest one; the first is 1
  uint64_t foreign = 0;      // up to this number, attempts were among ranks of other numbers
  std::vector<Event> early;  // of later attempts, in order of arrival
  // Messages between two ranks, outside attempts, that nobody has asked for yet.
  std::vector<Event> direct;
  uint32_t sends = 0;  // of this rank, outside attempts
};

// One attempt of a collective.
class Attempt {
 public:
  // kBroken: somebody was lost; the work so far is void.
  enum class Progress : uint8_t { kDone, kBroken };

  Attempt(Endpoint& endpoint, const Patience& patience);

  Endpoint& endpoint() { return endpoint_; }
  Transport& transport() { return endpoint_.transport; }
  const RankSet& lost() const { return endpoint_.lost; }
  bool takes_part(int rank) const { return !endpoint_.lost.has(rank); }

  // Tells the own declaration and waits for those of all others; [rank], empty for lost ones.
  Progress announce(const Declaration& own);
  const std::vector<PeerDeclaration>& declarations() const { return declarations_; }

  // Part of the window in which peers write during this attempt. Nothing: none is free.
  std::optional<uint64_t> lend(uint64_t bytes);
  void shrink_lent(uint64_t offset, uint64_t bytes) { endpoint_.memory->shrink(offset, bytes); }
  // If this attempt succeeds, the block belongs to the caller, who gives it back.
  void keep(uint64_t offset);

  void signal(int peer, int rail, uint32_t subject);
  void tell(int peer, std::span<const int64_t> numbers);
  // Signals of this attempt on `subject` so far, which is below kSubjects.
  int signals(int peer, uint32_t subject) const;
  // The next numbers that `peer` told in this attempt.
  std::optional<std::vector<int64_t>> told(int peer);

  // Calls `advance` after every event until it returns true. `missing(rank)`: this rank waits for
  // `rank` itself, so that after the patience for a call it is lost.
  Progress wait(const std::function<bool()>& advance, const std::function<bool(int)>& missing);

  // Takes in what has come, so that signals() and told() know: for an `advance` that works long.
  void take_in() { pump(); }

  // Votes until the survivors agree; afterwards decision() is set, unless this rank is alone.
  void settle(Progress progress);
  const RankSet& decision() const { return *agreement_.decision(); }
  // The others lost this rank, or it lost contact with most of them, so that they have.
  bool expelled() const;
  // After settle(). Frees what was lent and need not be kept. What a newly lost peer that is not
  // known to have ended may still write to is never used again.
  void take_back();
  bool succeeded() const { return !expelled() && decision() == endpoint_.lost; }

  static constexpr uint32_t kSubjectBits = 20;
  // The subject above these belongs to what goes on between two ranks outside attempts, as do
  // messages of number kDirectNumber.
  static constexpr uint32_t kSubjects = (uint32_t{1} << kSubjectBits) - 1;
  static constexpr uint64_t kDirectNumber = ~uint64_t{0};
  static bool is_direct(const Event& event);

 private:
  void pump();
  bool settle_event(Event& event, uint64_t now_serving);
  void hear_of_the_past(const Event& event);
  void read_message(int peer, MessageReader& reader, uint8_t kind);
  void read_decision(int peer, MessageReader& reader, bool past);
  void broadcast(const MessageWriter& message);
  void send_votes();
  Instant watch(const std::function<bool(int)>& missing);
  bool watch_rank(int rank, const std::function<bool(int)>& missing, Instant& next);
  void listen_to(int rank);
  bool overdue(int rank, bool missing) const;
  bool known_gone(int rank);
  bool given_up();

  Endpoint& endpoint_;
  Patience patience_;
  uint64_t number_;
  Instant late_;  // end of the patience for what is waited for now
  bool voting_ = false;
  std::optional<Instant> broken_since_;
  std::optional<Instant> stuck_since_;
  bool given_up_ = false;
  Agreement agreement_;
  std::vector<PeerDeclaration> declarations_;
  std::vector<bool> declared_;
  std::vector<std::deque<std::vector<int64_t>>> told_;
  std::map<std::pair<int, uint32_t>, int> signals_;
  struct Block {
    uint64_t offset;
    bool kept;
  };
  std::vector<Block> lent_;
};

// Attempts until one succeeds: `attempt` is given a fresh Attempt each time and returns how far it
// came; what it leaves behind counts only if this returns ok. The lost ranks of the endpoint grow
// on the way. Error: this rank was expelled.
Status run_call(Endpoint& endpoint, const Patience& patience,
                const std::function<Attempt::Progress(Attempt&)>& attempt);

}  // namespace mixnet::ep
