#include "plan/wire_greedy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/never.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

// Servers A to D; both directions of a pair must be added, so demand goes either way.
DemandMatrix four_servers() {
  DemandMatrix demand(4, 4, 0.0);
  demand(0, 1) = 7;
  demand(1, 0) = 5;
  demand(3, 2) = 5;
  demand(0, 2) = 2;
  return demand;
}

int total_circuits(const Matrix<int>& circuits) {
  int sum = 0;
  for (const int c : circuits.cells()) {
    sum += c;
  }
  return sum / 2;
}

TEST(Algorithm1, FourServerExampleStepByStep) {
  std::vector<GreedyStep> trace;
  const Matrix<int> circuits = algorithm1_circuits(four_servers(), 3, WhenBlocked::kStop, &trace);
  const GreedyStep wanted[] = {{0, 1, kNever, true},
                               {2, 3, kNever, true},
                               {0, 2, kNever, true},
                               {0, 1, 12, true},
                               {0, 1, 6, false}};
  ASSERT_EQ(trace.size(), std::size(wanted));
  for (std::size_t k = 0; k < trace.size(); ++k) {
    EXPECT_EQ(trace[k].i, wanted[k].i) << "step " << k;
    EXPECT_EQ(trace[k].j, wanted[k].j) << "step " << k;
    EXPECT_EQ(trace[k].time_before, wanted[k].time_before) << "step " << k;
    EXPECT_EQ(trace[k].granted, wanted[k].granted) << "step " << k;
  }
  EXPECT_EQ(circuits(0, 1), 2);
  EXPECT_EQ(circuits(2, 3), 1);
  EXPECT_EQ(circuits(0, 2), 1);
  EXPECT_EQ(total_circuits(circuits), 4);
}

TEST(Algorithm1, SkippingGoesOnWhereStoppingEnds) {
  const Matrix<int> circuits = algorithm1_circuits(four_servers(), 3, WhenBlocked::kSkip);
  EXPECT_EQ(circuits(0, 1), 2);
  EXPECT_EQ(circuits(2, 3), 2);
  EXPECT_EQ(circuits(0, 2), 1);
}

TEST(Algorithm1, TiesGoToLargerDemandThenLowerIndices) {
  DemandMatrix demand(4, 4, 0.0);
  demand(0, 1) = 1;
  demand(2, 3) = 4;
  demand(1, 3) = 1;
  std::vector<GreedyStep> trace;
  algorithm1_circuits(demand, 8, WhenBlocked::kStop, &trace);
  ASSERT_GE(trace.size(), 3U);
  EXPECT_EQ(trace[0].i, 2);
  EXPECT_EQ(trace[1].i, 0);
  EXPECT_EQ(trace[2].i, 1);
}

TEST(Algorithm1, PublicMatrixStopsEarlyAsPrinted) {
  EXPECT_EQ(
      total_circuits(algorithm1_circuits(test_support::public_matrix(), 6, WhenBlocked::kStop)), 6);
  EXPECT_EQ(
      total_circuits(algorithm1_circuits(test_support::public_matrix(), 6, WhenBlocked::kSkip)),
      24);
}

TEST(Released, PublicMatrixLeavesTheKnownPairsWithoutCircuit) {
  const Matrix<int> circuits = released_circuits(test_support::public_matrix(), 6);
  EXPECT_EQ(total_circuits(circuits), 24);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = i + 1; j < 8; ++j) {
      const bool dark = (i == 0 && j == 5) || (i == 1 && j == 2) || (i == 2 && j == 3) ||
                        (i == 4 && j == 6) || (i == 6 && j == 7);
      const int wanted = dark ? 0 : (i == 2 && j == 6 ? 2 : 1);  // the coldest pair gets two
      EXPECT_EQ(circuits(i, j), wanted) << i << "-" << j;
    }
  }
}

TEST(Released, ZeroDemandAndZeroPorts) {
  EXPECT_EQ(total_circuits(released_circuits(DemandMatrix(5, 5, 0.0), 6)), 0);
  EXPECT_EQ(total_circuits(released_circuits(test_support::public_matrix(), 0)), 0);
  EXPECT_EQ(total_circuits(algorithm1_circuits(DemandMatrix(), 6, WhenBlocked::kStop)), 0);
}

// Without electrical NICs, minimising the slowest pair is exactly solvable, and Algorithm 1 does
// so whenever a finite solution exists.
TEST(Algorithm1, OptimalWithoutElectricalNics) {
  int finite = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const DemandMatrix demand =
        both_directions(test_support::sparse_demand(4, 1 + static_cast<int>(seed % 3), seed));
    const auto slowest = [&](const Matrix<int>& circuits) {
      double time = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          if (demand(i, j) > 0) {
            const int count = circuits(i, j);
            time = std::max(time, count > 0 ? demand(i, j) / count : kNever);
          }
        }
      }
      return time;
    };
    double best = kNever;
    test_support::every_wiring(
        4, 3, [&](const Matrix<int>& circuits) { best = std::min(best, slowest(circuits)); });
    if (best < kNever) {
      ++finite;
      EXPECT_DOUBLE_EQ(slowest(algorithm1_circuits(demand, 3, WhenBlocked::kStop)), best) << seed;
    }
  }
  EXPECT_GT(finite, 30);
}

}  // namespace
}  // namespace mixnet::plan
