#pragma once

#include <chrono>

namespace mixnet {

// The clock of real waits: monotonic, its origin chosen by whoever passes `now` in (a poll loop or
// a simulated clock). Nanoseconds, because a daemon outlives the 106 days of SimTime.
struct MonotonicClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock>;
};

using Instant = MonotonicClock::time_point;
using Duration = MonotonicClock::duration;

// For texts and metrics.
constexpr double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace mixnet
