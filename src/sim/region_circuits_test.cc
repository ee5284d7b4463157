#include "sim/region_circuits.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mixnet::sim {
namespace {

SimTime ms(int64_t t) { return SimTime::from_ms(t); }

// `count` circuits between servers a and b of four, on top of `base`.
Matrix<int> with(Matrix<int> base, std::size_t a, std::size_t b, int count) {
  base(a, b) = base(b, a) = count;
  return base;
}

Matrix<int> none() { return Matrix<int>(4, 4); }

MixnetSettings devices(int64_t ocs_ms, int64_t nic_ms, int64_t control_ms = 0) {
  MixnetSettings settings;
  settings.switch_time = {ms(ocs_ms), SimTime()};
  settings.relink_time = {ms(nic_ms), SimTime()};
  settings.control_delay = ms(control_ms);
  return settings;
}

SimTime cause(const CauseTimes& causes, SwitchCause c) {
  return causes[static_cast<std::size_t>(c)];
}

SimTime sum(const CauseTimes& causes) {
  return std::accumulate(causes.begin(), causes.end(), SimTime());
}

class RegionCircuitsTest : public ::testing::Test {
 protected:
  RandomStream random_{1, "test"};
};

TEST_F(RegionCircuitsTest, OnlyChangedCircuitsAreDark) {
  const Matrix<int> before = with(with(none(), 0, 1, 2), 2, 3, 1);
  const Matrix<int> after = with(with(none(), 0, 1, 1), 0, 2, 1);
  RegionCircuits circuits(before);
  EXPECT_EQ(circuits.all_up(), SimTime());
  circuits.request(after, ms(10), devices(40, 100), random_);
  EXPECT_EQ(circuits.wanted(), after);
  EXPECT_EQ(circuits.up(ms(10)), with(none(), 0, 1, 1));  // removed at once, added ones dark
  EXPECT_EQ(circuits.up(ms(149)), with(none(), 0, 1, 1));
  EXPECT_EQ(circuits.up(ms(150)), after);
  EXPECT_EQ(circuits.all_up(), ms(150));
  EXPECT_EQ(circuits.tally().commands, 1);
  EXPECT_EQ(circuits.tally().circuits, 1);
  EXPECT_EQ(circuits.tally().dark, ms(140));
}

TEST_F(RegionCircuitsTest, CircuitsStayUsableUntilTheCommand) {
  RegionCircuits circuits(with(none(), 0, 1, 1));
  circuits.request(with(none(), 0, 2, 1), ms(10), devices(40, 100, 5), random_);
  EXPECT_EQ(circuits.up(ms(12)), with(none(), 0, 1, 1));
  EXPECT_EQ(circuits.all_up(), ms(155));
  const CauseTimes causes = circuits.causes(ms(12));
  EXPECT_EQ(cause(causes, SwitchCause::kControl), ms(3));
  EXPECT_EQ(cause(causes, SwitchCause::kOcs), ms(40));
  EXPECT_EQ(cause(causes, SwitchCause::kNic), ms(100));
  circuits.hold_until(ms(60));  // an all-to-all runs that long
  circuits.settle(ms(59));
  EXPECT_EQ(circuits.up(ms(59)), with(none(), 0, 1, 1));
  circuits.settle(ms(60));
  EXPECT_EQ(circuits.up(ms(60)), none());
  EXPECT_EQ(circuits.all_up(), ms(200));
}

// The switch takes one command after the other; NICs of the first may still be linking.
TEST_F(RegionCircuitsTest, CommandsQueueAtTheSwitch) {
  RegionCircuits circuits(none());
  circuits.request(with(none(), 0, 1, 1), ms(0), devices(40, 100), random_);
  circuits.request(with(with(none(), 0, 1, 1), 2, 3, 1), ms(10), devices(40, 100), random_);
  EXPECT_EQ(circuits.up(ms(140)), with(none(), 0, 1, 1));
  EXPECT_EQ(circuits.all_up(), ms(40 + 40 + 100));
  const CauseTimes causes = circuits.causes(ms(20));
  EXPECT_EQ(cause(causes, SwitchCause::kOcs), ms(60));
  EXPECT_EQ(cause(causes, SwitchCause::kNic), ms(100));
  EXPECT_EQ(circuits.tally().commands, 2);
}

TEST_F(RegionCircuitsTest, ARequestReplacesOneThatIsNotOut) {
  RegionCircuits circuits(with(none(), 0, 1, 1));
  circuits.request(with(none(), 0, 2, 1), ms(0), devices(40, 100, 20), random_);
  circuits.request(with(none(), 0, 1, 1), ms(10), devices(40, 100, 20), random_);
  circuits.settle(ms(1000));
  EXPECT_EQ(circuits.tally().commands, 0);
  EXPECT_EQ(circuits.up(ms(1000)), with(none(), 0, 1, 1));
  EXPECT_EQ(circuits.all_up(), SimTime());
}

// Of two parallel circuits the dark one goes.
TEST_F(RegionCircuitsTest, DarkCircuitsGoFirst) {
  RegionCircuits circuits(with(none(), 0, 1, 1));
  circuits.request(with(none(), 0, 1, 2), ms(0), devices(40, 100), random_);
  circuits.request(with(with(none(), 0, 1, 1), 2, 3, 1), ms(50), devices(40, 100), random_);
  EXPECT_EQ(circuits.up(ms(50)), with(none(), 0, 1, 1));
}

TEST_F(RegionCircuitsTest, DarknessOutlastsTheIteration) {
  RegionCircuits circuits(none());
  circuits.request(with(none(), 0, 1, 1), ms(30), devices(40, 100), random_);
  circuits.next_iteration(ms(50));
  EXPECT_EQ(circuits.tally().commands, 0);
  EXPECT_EQ(circuits.all_up(), ms(120));
  EXPECT_EQ(circuits.up(ms(119)), none());
  const CauseTimes causes = circuits.causes(SimTime());
  EXPECT_EQ(cause(causes, SwitchCause::kOcs), ms(20));
  EXPECT_EQ(cause(causes, SwitchCause::kNic), ms(100));
  circuits.next_iteration(ms(500));
  EXPECT_EQ(circuits.all_up(), SimTime());
}

// Random requests: at most what is wanted is up, everything wanted is up in the end, and causes
// account for every wait.
TEST_F(RegionCircuitsTest, EveryWaitHasItsCauses) {
  MixnetSettings settings = devices(40, 500, 7);
  settings.switch_time.p99 = ms(60);
  settings.relink_time.p99 = ms(900);
  RegionCircuits circuits(none());
  SimTime now;
  for (int i = 0; i < 300; ++i) {
    Matrix<int> wanted = none();
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = a + 1; b < 4; ++b) {
        wanted = with(wanted, a, b, static_cast<int>(random_.below(3)));
      }
    }
    circuits.settle(now);
    circuits.request(wanted, now, settings, random_);
    now += ms(static_cast<int64_t>(random_.below(400)));
    circuits.settle(now);
    const SimTime up = circuits.all_up();
    if (up > now) {
      EXPECT_EQ(sum(circuits.causes(now)), up - now);
    }
    if (random_.below(4) == 0) {
      now = later_of(now, up);
      circuits.settle(now);
      EXPECT_EQ(circuits.up(now), wanted);
    }
    if (random_.below(10) == 0) {
      circuits.next_iteration(now);
      now = SimTime();
    }
  }
}

}  // namespace
}  // namespace mixnet::sim
