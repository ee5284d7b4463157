#include "net/timer_queue.h"

namespace mixnet::net {

TimerId TimerQueue::add(Instant when, std::function<void()> due) {
  const TimerId timer = ++last_;
  timers_.emplace(std::pair(when, timer), std::move(due));
  when_.emplace(timer, when);
  return timer;
}

void TimerQueue::cancel(TimerId timer) {
  const auto found = when_.find(timer);
  if (found == when_.end()) {
    return;
  }
  // What the timer holds may cancel other timers when it is destroyed: it goes last.
  const auto node = timers_.extract(std::pair(found->second, timer));
  when_.erase(found);
}

std::optional<Instant> TimerQueue::earliest() const {
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.first);
}

std::optional<std::function<void()>> TimerQueue::take_due(Instant now, TimerId youngest) {
  if (timers_.empty()) {
    return std::nullopt;
  }
  const auto [when, timer] = timers_.begin()->first;
  if (when > now || timer > youngest) {
    return std::nullopt;
  }
  std::function<void()> due = std::move(timers_.begin()->second);
  timers_.erase(timers_.begin());
  when_.erase(timer);
  return due;
}

}  // namespace mixnet::net
