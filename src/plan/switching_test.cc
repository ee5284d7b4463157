#include "plan/switching.h"

#include <gtest/gtest.h>

namespace mixnet::plan {
namespace {

constexpr SimTime ms(double value) { return SimTime::from_seconds(value * 1e-3); }

// The 7-layer prototype: two switches a layer, 16 pairs each.
SwitchSchedule prototype(SimTime relink, SimTime window) {
  return SwitchSchedule{7, {window, window}, 1, ms(46.75), relink};
}

TEST(Switching, WindowHidesTheSwitchAlone) {
  const SwitchingCost cost = switching_cost(prototype(SimTime(), ms(148)));
  EXPECT_EQ(cost.switches, 14);
  EXPECT_EQ(cost.total, ms(654.5));
  EXPECT_EQ(cost.exposed, SimTime());
  EXPECT_EQ(cost.hidden, cost.total);
}

TEST(Switching, NicRelinkSticksOut) {
  const SwitchingCost cost = switching_cost(prototype(ms(5670), ms(148)));
  EXPECT_EQ(cost.exposed, ms(77'962.5));
  EXPECT_EQ(cost.total, ms(14 * (46.75 + 5670)));
  EXPECT_EQ(cost.hidden, ms(14 * 148));
}

TEST(Switching, NicAloneWithoutWindow) {
  SwitchSchedule schedule = prototype(ms(5670), SimTime());
  schedule.switch_time = SimTime();
  EXPECT_EQ(switching_cost(schedule).exposed, ms(79'380));
}

TEST(Switching, ExposedOverTheAllToAllsOfAnIteration) {
  const SimTime mean = ms((61.0 + 58.0) / 2);
  const int64_t count = all_to_alls_per_iteration(7, 1);
  EXPECT_EQ(count, 28);
  EXPECT_DOUBLE_EQ(exposed_per_all_to_all(SimTime(), count, mean), 0);
  const SimTime exposed = switching_cost(prototype(ms(5670), ms(148))).exposed;
  EXPECT_NEAR(exposed_per_all_to_all(exposed, count, mean), 77.9625 / 1.666, 1e-9);
}

TEST(Switching, WindowsOfOneLayerMayDiffer) {
  SwitchSchedule schedule = prototype(SimTime(), SimTime());
  schedule.windows = {SimTime(), ms(40), ms(148)};
  EXPECT_EQ(switching_cost(schedule).exposed, (ms(46.75) + ms(6.75)) * 7);
}

TEST(Switching, RoundsMultiplyEverything) {
  SwitchSchedule schedule = prototype(ms(5670), ms(148));
  const SwitchingCost once = switching_cost(schedule);
  schedule.rounds = 8;
  const SwitchingCost eight = switching_cost(schedule);
  EXPECT_EQ(eight.switches, once.switches * 8);
  EXPECT_EQ(eight.exposed, once.exposed * 8);
  schedule.rounds = 0;
  EXPECT_EQ(switching_cost(schedule).total, SimTime());
}

}  // namespace
}  // namespace mixnet::plan
