#include "plan/wire_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::checked_completion;
using test_support::log_normal_demand;

double ratio_of(const WireProblem& problem) {
  const Wiring wiring = wire(problem, Allocator::kRelay);
  const double completion = checked_completion(problem, wiring);
  EXPECT_NEAR(completion / wiring.completion, 1, 1e-9);
  EXPECT_GE(wiring.completion, wiring.bound * (1 - 1e-9));
  return completion / wiring.bound;
}

double mean_ratio(std::size_t n, double sigma, int seeds) {
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    sum += ratio_of(WireProblem{log_normal_demand(n, sigma, static_cast<uint64_t>(seed)), 6, 2});
  }
  return sum / seeds;
}

TEST(WireRelay, MeetsTheBoundOnThePublicMatrix) {
  EXPECT_LE(ratio_of(WireProblem{test_support::public_matrix(), 6, 2}), 1.01);
}

TEST(WireRelay, UniformDemand) {
  for (const auto& [n, most] : {std::pair(8, 1.02), std::pair(16, 1.01), std::pair(32, 1.01)}) {
    const auto servers = static_cast<std::size_t>(n);
    EXPECT_LE(ratio_of(WireProblem{DemandMatrix(servers, servers, 1e6), 6, 2}), most) << n;
  }
  // Few circuits reach all others only if few of them lie on short cycles.
  EXPECT_LE(ratio_of(WireProblem{DemandMatrix(8, 8, 1e6), 3, 1}), 1.01);
}

TEST(WireRelay, LogNormalDemand) {
  EXPECT_LE(mean_ratio(8, 0.5, 4), 1.02);
  EXPECT_LE(mean_ratio(8, 1.5, 4), 1.01);
  EXPECT_LE(mean_ratio(16, 1.0, 3), 1.04);
  EXPECT_LE(mean_ratio(32, 1.0, 2), 1.07);
}

// Published gain of one relay hop over direct circuits and electrical NICs (uniform demand).
TEST(WireRelay, GainsWhatARelayHopIsWorth) {
  struct Row {
    std::size_t n;
    double gain;
  };
  for (const Row row : {Row{12, 1.56}, Row{16, 1.87}, Row{24, 2.12}}) {
    const WireProblem problem{DemandMatrix(row.n, row.n, 1.0), 6, 2};
    const double split = wire(problem, Allocator::kSplit).completion;
    const double relay = wire(problem, Allocator::kRelay).completion;
    EXPECT_NEAR(split / relay / row.gain, 1, 0.03) << row.n;
  }
}

// Over every wiring of a small region, each routed with relays.
TEST(WireRelay, BruteForce) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const std::size_t n = seed % 2 == 0 ? 4 : 5;
    const int alpha = n == 4 ? 3 : 2;
    const WireProblem problem{log_normal_demand(n, 1, seed), alpha, 1};
    double best = std::numeric_limits<double>::infinity();
    test_support::every_wiring(n, alpha, [&](const Matrix<int>& circuits) {
      best = std::min(best, route_over(problem, circuits, Allocator::kRelay).completion);
    });
    const double found = wire(problem, Allocator::kRelay).completion;
    EXPECT_GE(found, best * (1 - 2e-3)) << seed;
    EXPECT_LE(found, best * 1.06) << seed;
  }
}

TEST(WireRelay, IsNeverSlowerThanSplittingInASmallRegion) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const WireProblem problem{log_normal_demand(3 + seed % 6, 1, seed), 3, 1};
    EXPECT_LE(wire(problem, Allocator::kRelay).completion,
              wire(problem, Allocator::kSplit).completion * (1 + 1e-9));
  }
}

TEST(WireRelay, AnyBudgetGivesAnAnswerAndMoreIsRarelyWorse) {
  const WireProblem problem{log_normal_demand(16, 1, 2), 6, 2};
  double last = std::numeric_limits<double>::infinity();
  for (const int64_t work : {0LL, 100'000LL, 1'000'000LL, 10'000'000LL}) {
    const Wiring wiring = wire_with_relays(problem, RelayBudget{work});
    const double completion = checked_completion(problem, wiring);
    ASSERT_FALSE(std::isnan(completion)) << work;
    EXPECT_LE(completion, last * 1.03) << work;
    last = completion;
  }
}

TEST(WireRelay, ServersThatDiffer) {
  DemandMatrix demand = log_normal_demand(12, 1, 4);
  demand(2, 3) = demand(3, 2) = 0;  // one has no optical NIC, the other no electrical one
  const WireProblem problem{demand, std::vector<int>{6, 6, 0, 6, 5, 6, 6, 1, 6, 6, 6, 6},
                            std::vector<int>{2, 2, 2, 0, 2, 1, 2, 2, 2, 2, 2, 2}};
  const Wiring wiring = wire(problem, Allocator::kRelay);
  const double completion = checked_completion(problem, wiring);
  ASSERT_FALSE(std::isnan(completion));
  EXPECT_TRUE(std::isfinite(completion)) << "relays reach a server without electrical NICs";
  EXPECT_DOUBLE_EQ(completion, wiring.completion);
}

TEST(WireRelay, SharesOverGivenCircuitsNeverLoseToSplitting) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const WireProblem problem{log_normal_demand(14, 1, seed), 4, 2};
    const Matrix<int> circuits = wire(problem, Allocator::kSplit).circuits;
    EXPECT_LE(route_over(problem, circuits, Allocator::kRelay).completion,
              route_over(problem, circuits, Allocator::kSplit).completion * 1.002);
  }
}

}  // namespace
}  // namespace mixnet::plan
