#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/instant.h"
#include "net/loop.h"

namespace mixnet::net {

// The timers of a loop, ordered by (time, order of setting). An id is never used twice, so that a
// stale one cancels nothing.
class TimerQueue {
 public:
  TimerId add(Instant when, std::function<void()> due);
  void cancel(TimerId timer);

  bool empty() const { return timers_.empty(); }
  std::optional<Instant> earliest() const;
  // The id of the last timer that was added.
  TimerId last() const { return last_; }
  // Takes out the earliest timer if it is due at `now` and not younger than `youngest`.
  std::optional<std::function<void()>> take_due(Instant now, TimerId youngest);

 private:
  TimerId last_ = 0;
  std::map<std::pair<Instant, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Instant> when_;
};

}  // namespace mixnet::net
