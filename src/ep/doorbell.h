#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "core/instant.h"
#include "core/result.h"
#include "net/unique_fd.h"

namespace mixnet::ep {

// How long a waiting rank looks for itself before it asks to be woken.
struct WaitPolicy {
  int spins = 0;
  int yields = 0;
};
// For `ranks` that wait for each other on the `hardware_threads` of one machine.
WaitPolicy choose_wait_policy(int ranks, int hardware_threads);
// Those that this process may run on.
int usable_hardware_threads();

// Wakes a rank of the same host. The state of its doorbell is one word of its shared memory:
//
//   kAwake    it looks for itself; ringing costs one atomic exchange
//   kOnFutex  it sleeps on the word
//   kInPoll   it sleeps in poll(), of a pipe and of descriptors of its own
//
// Whoever rings has published something before, and the sleeper looks once more after it set the
// word. Both go through an exchange of the same word: either the one who rings sees that somebody
// sleeps, or the sleeper sees what was published. So no wake-up is lost, and only one of several
// that ring makes a system call.
class Bell {
 public:
  // `word` outlives the bell. `pipe`: the writing end of the sleeper's pipe, also open for reading,
  // so that a sleeper's death does not raise SIGPIPE here.
  Bell(std::atomic<uint32_t>& word, net::UniqueFd pipe) : word_(&word), pipe_(std::move(pipe)) {}

  // From any thread. Never blocks.
  void ring() const;

 private:
  std::atomic<uint32_t>* word_;
  net::UniqueFd pipe_;
};

// The sleeper's side, for one thread.
class Doorbell {
 public:
  // True: there is something to do.
  using Ready = std::function<bool()>;

  // `word` outlives the doorbell and is zero at first.
  static Result<Doorbell> create(std::atomic<uint32_t>& word, WaitPolicy policy);

  void set_policy(WaitPolicy policy) { policy_ = policy; }
  // The descriptor that others of the host open to make a Bell.
  int pipe() const { return write_end_.get(); }
  // A bell for the threads of this process.
  Result<Bell> own_bell() const;

  // Returns when `ready`, at `until`, and sometimes for no reason.
  void wait(const Ready& ready, Instant until);
  // The same, also when one of `more` is ready: their `revents` are set, or zero.
  void wait(const Ready& ready, std::span<pollfd> more, Instant until);

 private:
  Doorbell(std::atomic<uint32_t>& word, WaitPolicy policy, net::UniqueFd read_end,
           net::UniqueFd write_end);
  bool look(const Ready& ready) const;
  void drain() const;

  std::atomic<uint32_t>* word_;
  WaitPolicy policy_;
  net::UniqueFd read_end_;
  net::UniqueFd write_end_;
};

}  // namespace mixnet::ep
