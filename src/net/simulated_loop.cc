#include "net/simulated_loop.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace mixnet::net {

TimerId SimulatedLoop::call_at(Instant when, std::function<void()> due) {
  return timers_.add(std::max(when, now_), std::move(due));
}

bool SimulatedLoop::run_one() {
  const auto next = timers_.earliest();
  if (!next) {
    return false;
  }
  now_ = *next;
  (*timers_.take_due(now_, timers_.last()))();
  return true;
}

void SimulatedLoop::run_until(Instant end) {
  CHECK(end >= now_, "a clock does not run backwards");
  while (!timers_.empty() && *timers_.earliest() <= end) {
    run_one();
  }
  now_ = end;
}

}  // namespace mixnet::net
