#include "plan/place_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/place_test_support.h"

namespace mixnet::plan {
namespace {

double bound_of(const PlaceCluster& cluster, std::vector<int64_t> loads, bool duplicates) {
  std::sort(loads.rbegin(), loads.rend());
  BoundInput input;
  input.loads.assign(loads.begin(), loads.end());
  input.slots = cluster.slots();
  input.gpus = cluster.gpus();
  input.least_slots = static_cast<std::size_t>(
      *std::min_element(cluster.gpu_slots.begin(), cluster.gpu_slots.end()));
  input.duplicates = duplicates;
  return gpu_load_bound(input);
}

// Oracle: the bound is never above the optimum, and reaches it in some cases with skew.
TEST(PlaceBound, NeverAboveTheOptimum) {
  int reached = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const auto& [gpus, slots, experts] :
         {std::tuple<int, int, int>(2, 5, 4), {3, 7, 5}, {4, 6, 5}, {3, 6, 6}, {2, 6, 5}}) {
      const PlaceCluster cluster = test_support::flat(gpus, slots);
      const auto loads = test_support::log_normal_loads(seed, experts, 1.2);
      const double optimum = test_support::Enumeration(cluster, loads).optimum();
      const double bound = bound_of(cluster, loads, false);
      EXPECT_LE(bound, optimum * (1 + 1e-9)) << seed << ": " << gpus << " GPUs";
      EXPECT_LE(bound_of(cluster, loads, true), bound * (1 + 1e-9));
      reached += optimum <= bound * (1 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GT(reached, 60);
}

TEST(PlaceBound, HotExpertThatNoSlotCanCarry) {
  // 6 slots for 4 experts: at most 3 for the hot one, on 3 of 3 GPUs, each beside one of the
  // others.
  const PlaceCluster cluster = test_support::flat(3, 6);
  EXPECT_GE(bound_of(cluster, {900, 3, 3, 3}, false), 301.0 - 1e-6);
  EXPECT_GE(bound_of(cluster, {900, 3, 3, 3}, true), 303.0 - 1e-6);
}

TEST(PlaceBound, TwoHeavyOnesShareAGpu) {
  // No redundancy: 3 experts on 2 GPUs, so two of them meet.
  EXPECT_GE(bound_of(test_support::flat(2, 4), {10, 10, 10, 0}, false), 20.0 - 1e-6);
}

TEST(PlaceBound, NothingToCarry) {
  EXPECT_EQ(bound_of(test_support::flat(2, 4), {0, 0, 0}, false), 0);
}

}  // namespace
}  // namespace mixnet::plan
