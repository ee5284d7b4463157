#pragma once

#include <cstdint>
#include <functional>

#include "core/instant.h"

namespace mixnet::net {

using TimerId = uint64_t;  // 0: none

// The clock and the timers of one thread. Everything that waits is given a Loop, so that it runs
// under a simulated clock as well as under the real one. Not thread-safe, unless said otherwise.
class Loop {
 public:
  virtual ~Loop() = default;

  // Read once per turn of the loop: equal for everything called in one turn.
  virtual Instant now() const = 0;
  // Calls `due` once, at `when` or as soon as possible after it, never from within this call.
  // Timers of one instant are called in the order in which they were set.
  virtual TimerId call_at(Instant when, std::function<void()> due) = 0;
  // No effect on a timer that was called, or cancelled, before.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace mixnet::net
