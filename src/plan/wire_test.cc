#include "plan/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "plan/never.h"
#include "plan/wire_greedy.h"
#include "plan/wire_split.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::checked_completion;
using test_support::log_normal_demand;
using test_support::public_matrix;

double ratio_of(const WireProblem& problem, Allocator allocator) {
  return reported_ratio(problem, wire(problem, allocator), allocator);
}

double electrical_time(const WireProblem& problem, const Wiring& wiring) {
  double most = 0;
  for (std::size_t i = 0; i < wiring.eps.rows(); ++i) {
    double sent = 0;
    double received = 0;
    for (std::size_t j = 0; j < wiring.eps.cols(); ++j) {
      sent += wiring.eps(i, j);
      received += wiring.eps(j, i);
    }
    most = std::max({most, sent, received});
  }
  return most / problem.eps.of(0);
}

TEST(WirePublicMatrix, ReleasedDirectional) {
  struct Row {
    int alpha;
    double completion;
    double electrical;
  };
  for (const Row row : {Row{2, 9781, 8139}, Row{4, 10897, 7313.25}, Row{6, 10897, 4180.5}}) {
    const WireProblem problem{public_matrix(), row.alpha, 8 - row.alpha};
    const Wiring wiring = wire(problem, Allocator::kReleased);
    EXPECT_DOUBLE_EQ(wiring.completion, row.completion);
    EXPECT_DOUBLE_EQ(electrical_time(problem, wiring), row.electrical);
  }
}

TEST(WirePublicMatrix, ReleasedCovers87Percent) {
  const Wiring wiring = wire(WireProblem{public_matrix(), 6, 2}, Allocator::kReleased);
  const auto cells = wiring.circuit.cells();
  EXPECT_DOUBLE_EQ(std::accumulate(cells.begin(), cells.end(), 0.0), 199'033);
}

TEST(WirePublicMatrix, SplitMeetsTheBound) {
  for (const int alpha : {2, 4, 6}) {
    const Wiring wiring = wire(WireProblem{public_matrix(), alpha, 8 - alpha}, Allocator::kSplit);
    EXPECT_DOUBLE_EQ(wiring.bound, 67893.0 / 8);
    EXPECT_LE(wiring.completion, wiring.bound * 1.0001) << "alpha " << alpha;
  }
}

TEST(WirePublicMatrix, RatiosOfBothDirectionsAdded) {
  const WireProblem six{public_matrix(), 6, 2};
  const WireProblem four{public_matrix(), 4, 4};
  const WireProblem three{public_matrix(), 3, 1};
  EXPECT_NEAR(ratio_of(six, Allocator::kAlgorithm1), 2.214, 0.001);
  EXPECT_NEAR(ratio_of(four, Allocator::kAlgorithm1), 1.39, 0.005);
  EXPECT_NEAR(ratio_of(three, Allocator::kAlgorithm1), 2.47, 0.005);
  EXPECT_NEAR(ratio_of(six, Allocator::kReleased), 1.39, 0.005);
  EXPECT_NEAR(ratio_of(four, Allocator::kReleased), 1.39, 0.005);
  EXPECT_NEAR(ratio_of(three, Allocator::kReleased), 2.05, 0.005);
}

// With demand that is symmetric already, the same circuits split optimally; and search on top.
TEST(WirePublicMatrix, SplittingTheAddedDirections) {
  const DemandMatrix added = both_directions(public_matrix());
  const auto ratio = [&](int alpha, int eps, bool search) {
    const WireProblem problem{added, alpha, eps};
    const Matrix<int> circuits = search ? wire(problem, Allocator::kSplit).circuits
                                        : algorithm1_circuits(added, alpha, WhenBlocked::kSkip);
    return split_time(problem, circuits) / port_bound(problem);
  };
  EXPECT_NEAR(ratio(6, 2, false), 1.00, 0.005);
  EXPECT_NEAR(ratio(4, 4, false), 1.00, 0.005);
  EXPECT_NEAR(ratio(3, 1, false), 2.05, 0.005);
  EXPECT_NEAR(ratio(6, 2, true), 1.00, 0.005);
  EXPECT_NEAR(ratio(3, 1, true), 2.05, 0.005);
}

// Log-normal demand, sigma 0.5, both directions added, 6 + 2 NICs. The reference gives means of
// three draws, of which a single one spreads from 1.4 to 2.7 at n = 8; these are other draws.
TEST(WireLogNormal, RatiosResembleTheReference) {
  struct Row {
    std::size_t n;
    double algorithm1;
    double released;
    double split;
  };
  for (const Row& row :
       {Row{8, 1.70, 1.44, 1.01}, Row{16, 2.60, 1.95, 1.95}, Row{32, 2.95, 2.89, 2.89}}) {
    double algorithm1 = 0;
    double released = 0;
    double split = 0;
    constexpr int draws = 6;
    for (uint64_t seed = 1; seed <= draws; ++seed) {
      const WireProblem problem{both_directions(log_normal_demand(row.n, 0.5, seed)), 6, 2};
      algorithm1 += ratio_of(problem, Allocator::kAlgorithm1) / draws;
      released += ratio_of(problem, Allocator::kReleased) / draws;
      split += wire(problem, Allocator::kSplit).completion / port_bound(problem) / draws;
    }
    EXPECT_NEAR(algorithm1 / row.algorithm1, 1, 0.15) << row.n;
    EXPECT_NEAR(released / row.released, 1, row.n == 8 ? 0.22 : 0.06) << row.n;
    EXPECT_NEAR(split / row.split, 1, 0.06) << row.n;
    EXPECT_GE(algorithm1, released);
    EXPECT_GE(released, split);
  }
}

TEST(Wire, EveryAllocatorIsFeasibleAndAboveTheBound) {
  for (const Allocator allocator :
       {Allocator::kAlgorithm1, Allocator::kReleased, Allocator::kSplit, Allocator::kRelay}) {
    for (const std::size_t n : {1, 2, 3, 5, 8, 13, 20}) {
      for (const int alpha : {0, 1, 3, 6, 40}) {
        for (const int eps : {0, 1, 2}) {
          if (alpha + eps == 0) {
            continue;
          }
          const WireProblem problem{log_normal_demand(n, 1, n), alpha, eps};
          const Wiring wiring = wire(problem, allocator);
          const double completion = checked_completion(problem, wiring);
          const std::string what = std::string(allocator_name(allocator)) + " " +
                                   std::to_string(n) + " " + std::to_string(alpha) + "+" +
                                   std::to_string(eps);
          ASSERT_FALSE(std::isnan(completion)) << what;
          EXPECT_DOUBLE_EQ(completion, wiring.completion) << what;
          EXPECT_GE(wiring.completion, wiring.bound * (1 - 1e-9)) << what;
          if (allocator != Allocator::kRelay) {
            EXPECT_GE(wiring.completion, no_relay_bound(problem) * (1 - 1e-9)) << what;
          }
          EXPECT_GE(reported_ratio(problem, wiring, allocator), 1 - 1e-9) << what;
        }
      }
    }
  }
}

TEST(Wire, SplitIsNeverSlowerThanTheOthers) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const WireProblem problem{log_normal_demand(8, 1, seed), 6, 2};
    const double split = wire(problem, Allocator::kSplit).completion;
    EXPECT_LE(split, wire(problem, Allocator::kReleased).completion * (1 + 1e-9));
    EXPECT_LE(split, wire(problem, Allocator::kAlgorithm1).completion * (1 + 1e-9));
  }
}

TEST(Wire, RelabellingServersChangesNothing) {
  constexpr std::size_t servers = 10;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const DemandMatrix demand = log_normal_demand(servers, 1, seed);
    std::vector<std::size_t> label(servers);
    std::iota(label.begin(), label.end(), std::size_t{0});
    RandomStream random(seed, "labels");
    random.shuffle(std::span<std::size_t>(label));
    DemandMatrix relabelled(servers, servers);
    for (std::size_t i = 0; i < servers; ++i) {
      for (std::size_t j = 0; j < servers; ++j) {
        relabelled(label[i], label[j]) = demand(i, j);
      }
    }
    for (const Allocator allocator :
         {Allocator::kAlgorithm1, Allocator::kReleased, Allocator::kSplit, Allocator::kRelay}) {
      const Wiring a = wire(WireProblem{demand, 4, 2}, allocator);
      const Wiring b = wire(WireProblem{relabelled, 4, 2}, allocator);
      EXPECT_NEAR(a.completion / b.completion, 1, 1e-9) << allocator_name(allocator) << seed;
      EXPECT_NEAR(a.bound / b.bound, 1, 1e-9);
    }
  }
}

TEST(Wire, OneHotPairGetsEveryPortOfItsServers) {
  DemandMatrix demand(5, 5, 0.0);
  demand(1, 3) = 800;
  const Wiring wiring = wire(WireProblem{demand, 6, 2}, Allocator::kSplit);
  EXPECT_EQ(wiring.circuits(1, 3), 6);
  EXPECT_DOUBLE_EQ(wiring.completion, 100);
  EXPECT_DOUBLE_EQ(wiring.bound, 100);
}

TEST(Wire, NothingToSend) {
  for (const Allocator allocator :
       {Allocator::kAlgorithm1, Allocator::kReleased, Allocator::kSplit, Allocator::kRelay}) {
    for (const std::size_t n : {1, 4}) {
      const WireProblem problem{DemandMatrix(n, n, 0.0), 6, 2};
      const Wiring wiring = wire(problem, allocator);
      EXPECT_EQ(wiring.completion, 0);
      EXPECT_EQ(reported_ratio(problem, wiring, allocator), 1);
    }
  }
}

TEST(Wire, PairsWithoutAnyWayNeverComplete) {
  const Wiring wiring = wire(WireProblem{public_matrix(), 3, 0}, Allocator::kSplit);
  EXPECT_EQ(wiring.completion, kNever);
  EXPECT_TRUE(std::isfinite(wiring.bound));
}

}  // namespace
}  // namespace mixnet::plan
