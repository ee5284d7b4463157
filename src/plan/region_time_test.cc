#include "plan/region_time.h"

#include <gtest/gtest.h>

#include <limits>

#include "plan/wire.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::log_normal_demand;

TEST(RegionTime, AllToAllsAddUp) {
  const Region region{3, 1, Allocator::kSplit, 1e-6};
  IterationLoad load;
  load.layers = 2;
  load.micro_batches = 8;
  load.demand = {log_normal_demand(5, 1, 1), log_normal_demand(5, 1, 2)};
  const Matrix<int> circuits = circuits_for(region, summed_demand(load));
  double expected = 0;
  for (const DemandMatrix& demand : load.demand) {
    expected += route_over(WireProblem{demand, 3, 1}, circuits, Allocator::kSplit).completion;
  }
  EXPECT_DOUBLE_EQ(all_to_all_s(region, load, circuits), expected * 4 * 8 * 1e-6);

  // Micro-batches given one by one say the same if they are alike.
  IterationLoad each = load;
  for (int m = 1; m < 8; ++m) {
    each.demand.insert(each.demand.end(), load.demand.begin(), load.demand.end());
  }
  EXPECT_EQ(each.rows(), 8u);
  EXPECT_NEAR(all_to_all_s(region, each, circuits), all_to_all_s(region, load, circuits), 1e-9);
  EXPECT_EQ(summed_demand(each, 3), summed_demand(load));
}

// What makes one matrix per layer enough.
TEST(RegionTime, TransposedDemandTakesAsLong) {
  for (const Allocator allocator : {Allocator::kSplit, Allocator::kAlgorithm1}) {
    const Region region{6, 2, allocator, 1};
    const DemandMatrix demand = log_normal_demand(8, 1, 4);
    const Matrix<int> circuits = circuits_for(region, log_normal_demand(8, 1, 5));
    EXPECT_DOUBLE_EQ(completion_over(region, demand, circuits),
                     completion_over(region, transposed(demand), circuits));
  }
}

TEST(RegionTime, ChangesAreCountedPerCircuit) {
  Matrix<int> from(4, 4, 0);
  Matrix<int> to(4, 4, 0);
  from(0, 1) = from(1, 0) = 2;
  from(2, 3) = from(3, 2) = 1;
  to(0, 1) = to(1, 0) = 1;
  to(0, 2) = to(2, 0) = 1;
  to(1, 3) = to(3, 1) = 1;
  const CircuitChange change = change_between(from, to);
  EXPECT_EQ(change.removed, 2);
  EXPECT_EQ(change.added, 2);
  EXPECT_EQ(change.stays(0, 1), 1);
  EXPECT_EQ(change.stays(2, 3), 0);
  EXPECT_EQ(change_between(to, to).changed(), 0);
}

TEST(RegionTime, DetourLosesAtMostTheBlockedTime) {
  EXPECT_DOUBLE_EQ(detour_loss_s(5, 1, 3, 1), 5 * 2.0 / 4);
  EXPECT_EQ(detour_loss_s(5, 1, std::numeric_limits<double>::infinity(), 1), 5);
  EXPECT_EQ(detour_loss_s(5, 0, 0, 0), 0);
  EXPECT_EQ(detour_loss_s(5, 1, 1, 1), 0);
  EXPECT_EQ(detour_loss_s(0, 1, 3, 1), 0);
  // Eleven seconds of work in a network 2.2 times slower: counted in full seconds.
  const double work_per_s_dark = 1 / (1 + 3.0);
  const double work_per_s_new = 1 / (1 + 1.0);
  const double left = 10 - 5 * work_per_s_dark;
  EXPECT_DOUBLE_EQ(5 + left / work_per_s_new, 10 / work_per_s_new + detour_loss_s(5, 1, 3, 1));
}

TEST(RegionTime, SwitchesServeEveryAllToAll) {
  for (const DispatchMode mode :
       {DispatchMode::kBlock, DispatchMode::kPredict, DispatchMode::kReuse}) {
    int served = 0;
    for (const LayerSwitch& one :
         layer_switches(mode, SimTime::from_ms(1), SimTime::from_ms(2), SimTime::from_ms(3))) {
      served += one.serves;
    }
    EXPECT_EQ(served, 4);
  }
}

}  // namespace
}  // namespace mixnet::plan
