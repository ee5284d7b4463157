#include "plan/wire_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/never.h"
#include "plan/wire_greedy.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

TEST(WaterFill, SmallCasesByHand) {
  const std::vector<double> demand{0, 12, 4, 2};
  // All three pairs overflow until T = 2; then 12 + 4 = (2 + 1 + 1) T gives T = 4, where the 4
  // fits.
  EXPECT_DOUBLE_EQ(water_fill_time(demand, std::vector<int>{0, 2, 1, 1}, 1), 4);
  EXPECT_DOUBLE_EQ(water_fill_time(demand, std::vector<int>{0, 0, 0, 0}, 3), 6);
  EXPECT_DOUBLE_EQ(water_fill_time(demand, std::vector<int>{0, 3, 1, 1}, 0), 4);
  EXPECT_EQ(water_fill_time(demand, std::vector<int>{0, 3, 1, 0}, 0), kNever);
  EXPECT_EQ(water_fill_time(std::vector<double>{0, 0}, std::vector<int>{0, 0}, 0), 0);
}

TEST(WaterFill, EqualsBisection) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const WireProblem problem{test_support::log_normal_demand(7, 1, seed), 4,
                              static_cast<int>(seed % 3)};
    const Matrix<int> circuits =
        algorithm1_circuits(problem.demand, problem.alpha, WhenBlocked::kSkip);
    const double expected = test_support::split_time_by_bisection(problem, circuits);
    const double time = split_time(problem, circuits);
    if (expected == kNever) {
      EXPECT_EQ(time, kNever);
    } else {
      EXPECT_NEAR(time / expected, 1, 1e-9) << seed;
    }
  }
}

// Against all circuit matrices of four servers.
TEST(SplitCircuits, CloseToBruteForce) {
  int optimal = 0;
  double worst = 1;
  constexpr int cases = 48;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    const int alpha = 1 + static_cast<int>(seed % 3);
    const WireProblem problem{test_support::log_normal_demand(4, seed % 2 == 0 ? 0.5 : 1.5, seed),
                              alpha, static_cast<int>(seed / 3 % 3)};
    double best = kNever;
    test_support::every_wiring(4, alpha, [&](const Matrix<int>& circuits) {
      best = std::min(best, split_time(problem, circuits));
    });
    const double found = split_time(problem, split_circuits(problem, 0));
    if (best == kNever) {
      EXPECT_EQ(found, kNever);
      ++optimal;
      continue;
    }
    worst = std::max(worst, found / best);
    optimal += found <= best * (1 + 1e-9) ? 1 : 0;
  }
  EXPECT_LE(worst, 1.05);
  EXPECT_GE(optimal, cases * 9 / 10);
}

}  // namespace
}  // namespace mixnet::plan
