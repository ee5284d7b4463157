#include "cli/placement_gain.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/random.h"

namespace mixnet::cli {
namespace {

std::vector<double> log_normal_loads(std::size_t experts, double sigma, uint64_t seed) {
  RandomStream random(seed, "loads");
  std::vector<double> loads;
  for (std::size_t x = 0; x < experts; ++x) {
    loads.push_back(10000 * random.log_normal(0, sigma));
  }
  return loads;
}

plan::JointProblem region(DemandMatrix sent, int gpus_per_server) {
  plan::JointProblem problem;
  problem.sent = std::move(sent);
  problem.gpus_per_server = gpus_per_server;
  problem.alpha = 6;
  problem.eps = 2;
  return problem;
}

TEST(PlacementGain, EveryStepIsAtLeastAsGoodAsTheOneBefore) {
  int strict = 0;
  for (const double sigma : {0.5, 1.0}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const auto loads = log_normal_loads(64, sigma, seed);
      const auto gain = placement_gain(region(spread_over_servers(loads, 8, 0.5, seed), 8), 64);
      ASSERT_TRUE(gain.ok());
      EXPECT_LE(gain->place_then_wire, gain->wire_only);
      EXPECT_LE(gain->joint, gain->place_then_wire);
      EXPECT_GE(gain->joint, gain->bound);
      EXPECT_EQ(gain->joint, gain->plan.wiring.completion);
      strict += gain->joint < 0.999 * gain->place_then_wire ? 1 : 0;
    }
  }
  EXPECT_GE(strict, 4);
}

TEST(PlacementGain, WhereOneExpertFillsAServerTheBoundIsMet) {
  // Sources do not differ, so no server is better than another for the hottest expert.
  const auto gain =
      placement_gain(region(spread_over_servers(log_normal_loads(8, 1.0, 3), 8, 0, 1), 1), 8);
  ASSERT_TRUE(gain.ok());
  EXPECT_NEAR(gain->joint, gain->bound, 0.01 * gain->bound);
  EXPECT_NEAR(gain->wire_only, gain->bound, 0.01 * gain->bound);
}

TEST(PlacementGain, ASpreadKeepsTheLoads) {
  const auto loads = log_normal_loads(16, 1.0, 5);
  for (const double sigma : {0.0, 1.0}) {
    const DemandMatrix sent = spread_over_servers(loads, 4, sigma, 7);
    for (std::size_t x = 0; x < loads.size(); ++x) {
      double sum = 0;
      for (std::size_t s = 0; s < 4; ++s) {
        sum += sent(s, x);
      }
      EXPECT_NEAR(sum, loads[x], 1e-6);
      EXPECT_EQ(sent(0, x) == sent(1, x), sigma == 0);
    }
  }
}

}  // namespace
}  // namespace mixnet::cli
