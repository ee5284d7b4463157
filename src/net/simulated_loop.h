#pragma once

#include <functional>
#include <optional>

#include "core/instant.h"
#include "net/loop.h"
#include "net/timer_queue.h"

namespace mixnet::net {

// A loop whose clock stands still but for jumps to the next timer: the same calls give the same
// run, in no time.
class SimulatedLoop final : public Loop {
 public:
  explicit SimulatedLoop(Instant start = Instant()) : now_(start) {}

  Instant now() const override { return now_; }
  // A time that has passed counts as now.
  TimerId call_at(Instant when, std::function<void()> due) override;
  void cancel(TimerId timer) override { timers_.cancel(timer); }

  // Moves the clock to the earliest timer and calls it. False: there is none.
  bool run_one();
  // Calls every timer that is due up to and at `end`, also those set on the way; the clock shows
  // `end` afterwards. Not before now().
  void run_until(Instant end);
  bool idle() const { return timers_.empty(); }
  std::optional<Instant> next_due() const { return timers_.earliest(); }

 private:
  Instant now_;
  TimerQueue timers_;
};

}  // namespace mixnet::net
