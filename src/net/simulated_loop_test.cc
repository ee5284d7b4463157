#include "net/simulated_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"

namespace mixnet::net {
namespace {

using std::chrono::milliseconds;

Instant at(int ms) { return Instant() + milliseconds(ms); }

TEST(SimulatedLoop, CallsInOrderOfTimeThenOfSetting) {
  // Oracle: a stable sort by time of what was not cancelled.
  RandomStream random(7, "timers");
  SimulatedLoop loop;
  std::vector<std::pair<Instant, int>> expected;
  std::vector<int> called;
  std::vector<TimerId> ids;
  for (int i = 0; i < 500; ++i) {
    const Instant when = at(static_cast<int>(random.below(20)));
    ids.push_back(loop.call_at(when, [&called, i] { called.push_back(i); }));
    expected.emplace_back(when, i);
  }
  for (int i = 0; i < 500; i += 3) {
    loop.cancel(ids[static_cast<std::size_t>(i)]);
    loop.cancel(ids[static_cast<std::size_t>(i)]);  // no effect
  }
  std::erase_if(expected, [](const auto& timer) { return timer.second % 3 == 0; });
  std::ranges::stable_sort(expected, {}, &std::pair<Instant, int>::first);
  loop.run_until(at(20));
  std::vector<int> order;
  for (const auto& [when, i] : expected) {
    order.push_back(i);
  }
  EXPECT_EQ(called, order);
  EXPECT_TRUE(loop.idle());
}

TEST(SimulatedLoop, RunsUpToAndAtTheEndAlsoWhatIsSetOnTheWay) {
  SimulatedLoop loop(at(5));
  std::vector<Instant> called;
  std::function<void()> again = [&] {
    called.push_back(loop.now());
    loop.call_at(loop.now() + milliseconds(10), again);
  };
  loop.call_at(at(10), again);
  loop.run_until(at(30));
  EXPECT_EQ(called, (std::vector{at(10), at(20), at(30)}));
  EXPECT_EQ(loop.now(), at(30));
  EXPECT_EQ(loop.next_due(), at(40));
  loop.run_until(at(35));
  EXPECT_EQ(called.size(), 3U);
  EXPECT_EQ(loop.now(), at(35));
}

TEST(SimulatedLoop, PastTimesCountAsNowBehindWhatIsDueNow) {
  SimulatedLoop loop(at(10));
  std::vector<int> called;
  loop.call_at(at(10), [&] { called.push_back(1); });
  loop.call_at(at(3), [&] { called.push_back(2); });
  EXPECT_TRUE(called.empty());
  while (loop.run_one()) {
  }
  EXPECT_EQ(called, (std::vector{1, 2}));
  EXPECT_EQ(loop.now(), at(10));
}

TEST(SimulatedLoop, AStaleIdCancelsNothing) {
  SimulatedLoop loop;
  int called = 0;
  const TimerId first = loop.call_at(at(1), [&] { ++called; });
  EXPECT_TRUE(loop.run_one());
  loop.call_at(at(1), [&] { ++called; });
  loop.cancel(first);
  loop.cancel(0);
  EXPECT_TRUE(loop.run_one());
  EXPECT_EQ(called, 2);
  EXPECT_FALSE(loop.run_one());
}

TEST(SimulatedLoop, ATimerMayCancelOneOfTheSameInstant) {
  SimulatedLoop loop;
  int called = 0;
  TimerId second = 0;
  loop.call_at(at(1), [&] { loop.cancel(second); });
  second = loop.call_at(at(1), [&] { ++called; });
  loop.run_until(at(2));
  EXPECT_EQ(called, 0);
}

}  // namespace
}  // namespace mixnet::net
