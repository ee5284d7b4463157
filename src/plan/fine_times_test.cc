#include "plan/fine_times.h"

#include <gtest/gtest.h>

#include "plan/cadence_test_support.h"
#include "plan/switching.h"

namespace mixnet::plan {
namespace {

using test_support::drifting_trace;

const Region kFineRegion{6, 2, Allocator::kSplit, 1e-3};

SwitchDevice constant(int64_t ms) {
  return SwitchDevice{Delay{SimTime::from_ms(ms), SimTime()}, SimTime(), Delay{}};
}

IterationLoad blocked_load() {
  IterationLoad shape;
  shape.layer_switches = layer_switches(DispatchMode::kBlock, SimTime::from_ms(5),
                                        SimTime::from_ms(15), SimTime::from_ms(10));
  return drifting_trace({8, 2, 1, 0, 9}, 1, shape, 1)[0];
}

TEST(FineTimes, BlockedLayerIsTheSwitchingArithmetic) {
  const IterationLoad load = blocked_load();
  const Matrix<int> before = circuits_for(kFineRegion, load.demand[1]);
  const Matrix<int> own = circuits_for(kFineRegion, load.demand[0]);
  DarkTimes dark(constant(25));
  const FineTimes times = layer_times(kFineRegion, load, load.demand[0], {before, own, own}, dark);
  const SwitchingCost cost = switching_cost(
      SwitchSchedule{1, {SimTime(), SimTime::from_ms(10)}, 1, SimTime::from_ms(25), SimTime()});
  EXPECT_DOUBLE_EQ(times.block_s, cost.exposed.seconds());
  EXPECT_DOUBLE_EQ(times.all_to_all_s, 4e-3 * completion_over(kFineRegion, load.demand[0], own));
  EXPECT_LE(times.detour_s, times.block_s);
  EXPECT_GT(times.detour_s, 0);
}

TEST(FineTimes, DetourNeverLosesMoreThanRunningDarkToTheEnd) {
  const IterationLoad load = blocked_load();
  const Matrix<int> before = circuits_for(kFineRegion, load.demand[1]);
  const Matrix<int> own = circuits_for(kFineRegion, load.demand[0]);
  DarkTimes dark(constant(1'000'000));
  const FineTimes times = layer_times(kFineRegion, load, load.demand[0], {before, own, own}, dark);
  const double stays =
      4e-3 * completion_over(kFineRegion, load.demand[0], change_between(before, own).stays);
  EXPECT_NEAR(times.all_to_all_s + times.detour_s, stays, 1e-12);
}

TEST(FineTimes, ReuseRunsTheFirstOverTheNeighboursCircuits) {
  IterationLoad load = blocked_load();
  load.layer_switches = layer_switches(DispatchMode::kReuse, SimTime(), SimTime(), SimTime());
  const Matrix<int> before = circuits_for(kFineRegion, load.demand[1]);
  const Matrix<int> own = circuits_for(kFineRegion, load.demand[0]);
  DarkTimes dark(constant(0));
  const FineTimes times = layer_times(kFineRegion, load, load.demand[0], {before, own, own}, dark);
  EXPECT_DOUBLE_EQ(times.all_to_all_s,
                   1e-3 * (completion_over(kFineRegion, load.demand[0], before) +
                           3 * completion_over(kFineRegion, load.demand[0], own)));
  EXPECT_EQ(times.block_s, 0);
}

// The combine finds the circuits of the prediction, not those of the layer before.
TEST(FineTimes, ARightPredictionLeavesNothingToSwitchForTheCombine) {
  IterationLoad load = blocked_load();
  load.layer_switches = layer_switches(DispatchMode::kPredict, SimTime::from_ms(100), SimTime(),
                                       SimTime::from_ms(100));
  const Matrix<int> before = circuits_for(kFineRegion, load.demand[1]);
  const Matrix<int> own = circuits_for(kFineRegion, load.demand[0]);
  DarkTimes dark(constant(25));
  const auto times = [&](const Matrix<int>& guess) {
    return layer_times(kFineRegion, load, load.demand[0], {before, guess, own}, dark);
  };
  EXPECT_EQ(times(own).block_s, 0);
  EXPECT_DOUBLE_EQ(times(before).block_s, 0.025);
}

TEST(FineTimes, UnchangedCircuitsLoseNothing) {
  const IterationLoad load = blocked_load();
  const Matrix<int> own = circuits_for(kFineRegion, load.demand[0]);
  DarkTimes dark(prototype_device());
  EXPECT_EQ(layer_times(kFineRegion, load, load.demand[0], {own, own, own}, dark).block_s, 0);
  const FineTimes pass = pass_times(kFineRegion, load, 0, {own, own}, dark);
  EXPECT_EQ(pass.block_s, 0);
  EXPECT_DOUBLE_EQ(2 * pass.all_to_all_s, all_to_all_s(kFineRegion, load, own));
}

}  // namespace
}  // namespace mixnet::plan
