#include "plan/rewire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "plan/never.h"
#include "plan/region_time.h"
#include "plan/wire_split.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::every_wiring;
using test_support::log_normal_demand;
using test_support::public_matrix;

// A little of another matrix mixed in: demand that drifted.
DemandMatrix drifted(const DemandMatrix& demand, double share, uint64_t seed) {
  DemandMatrix mixed = log_normal_demand(demand.rows(), 1, seed);
  for (std::size_t k = 0; k < mixed.cells().size(); ++k) {
    mixed.cells()[k] = (1 - share) * demand.cells()[k] + share * mixed.cells()[k];
  }
  return mixed;
}

struct Instance {
  WireProblem problem;
  Matrix<int> laid;
  Matrix<int> fresh;
};

Instance make_instance(std::size_t n, int alpha, int eps, uint64_t seed, double share = 0.5) {
  const DemandMatrix before = log_normal_demand(n, 1, seed);
  Instance instance;
  instance.laid = wire(WireProblem{before, alpha, eps}, Allocator::kSplit).circuits;
  instance.problem = WireProblem{drifted(before, share, seed + 1000), alpha, eps};
  instance.fresh = wire(instance.problem, Allocator::kSplit).circuits;
  return instance;
}

void expect_valid(const WireProblem& problem, const Matrix<int>& circuits) {
  for (std::size_t i = 0; i < circuits.rows(); ++i) {
    int degree = 0;
    for (std::size_t j = 0; j < circuits.rows(); ++j) {
      EXPECT_GE(circuits(i, j), 0);
      EXPECT_EQ(circuits(i, j), circuits(j, i));
      degree += circuits(i, j);
    }
    EXPECT_EQ(circuits(i, i), 0);
    EXPECT_LE(degree, problem.alpha.of(i));
  }
}

// Two ways of adding up the same amounts.
void expect_close(double a, double b) {
  if (a != b) {
    EXPECT_NEAR(a, b, 1e-9 * b);
  }
}

void expect_frontier(const Instance& at, Allocator allocator) {
  const std::vector<RewireOption> frontier =
      rewire_frontier(at.problem, at.laid, at.fresh, allocator);
  ASSERT_FALSE(frontier.empty());
  EXPECT_EQ(frontier.front().changed, 0);
  EXPECT_EQ(frontier.front().circuits, at.laid);
  double before = kNever;
  int changed_before = -1;
  for (const RewireOption& option : frontier) {
    expect_valid(at.problem, option.circuits);
    const CircuitChange change = change_between(at.laid, option.circuits);
    EXPECT_EQ(option.changed, std::max(change.removed, change.added));
    expect_close(option.completion, route_over(at.problem, option.circuits, allocator).completion);
    expect_close(option.dark_completion,
                 route_over(at.problem, change.stays, allocator).completion);
    if (allocator == Allocator::kSplit) {
      // Fewer circuits never carry more. All-or-nothing may gain from losing one.
      EXPECT_GE(option.dark_completion, option.completion);
    }
    EXPECT_TRUE(option.completion < before || changed_before < 0);
    EXPECT_GT(option.changed, changed_before);
    before = option.completion;
    changed_before = option.changed;
  }
  const double fresh = route_over(at.problem, at.fresh, allocator).completion;
  EXPECT_LE(frontier.back().completion, fresh * (1 + 1e-9));
}

TEST(Rewire, FrontierKeepsItsPromises) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    for (const Allocator allocator :
         {Allocator::kSplit, Allocator::kAlgorithm1, Allocator::kReleased}) {
      expect_frontier(make_instance(8, 6, 2, seed), allocator);
      expect_frontier(make_instance(5, 3, 1, seed), allocator);
    }
    expect_frontier(make_instance(7, 4, 0, seed), Allocator::kSplit);
    expect_frontier(make_instance(16, 6, 2, seed), Allocator::kSplit);
  }
  Instance relayed = make_instance(12, 4, 1, 1);
  relayed.fresh = wire(relayed.problem, Allocator::kRelay).circuits;
  expect_frontier(relayed, Allocator::kRelay);
}

// The best wiring with at most m changes, by trying all of them.
TEST(Rewire, NearTheBestOfEveryNumberOfChanges) {
  double sum = 0;
  int count = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Instance at = make_instance(5, 3, 1, seed, 1);
    std::vector<double> best(8, kNever);
    every_wiring(5, 3, [&](const Matrix<int>& circuits) {
      const double time = split_time(at.problem, circuits);
      const int changed = change_between(at.laid, circuits).changed();
      for (std::size_t m = static_cast<std::size_t>(changed); m < best.size(); ++m) {
        best[m] = std::min(best[m], time);
      }
    });
    const std::vector<RewireOption> frontier =
        rewire_frontier(at.problem, at.laid, at.fresh, Allocator::kSplit);
    for (std::size_t m = 0; m < best.size(); ++m) {
      double reached = kNever;
      for (const RewireOption& option : frontier) {
        if (option.changed <= static_cast<int>(m)) {
          reached = option.completion;
        }
      }
      EXPECT_GE(reached, best[m] * (1 - 1e-12)) << "seed " << seed << ", " << m << " changes";
      EXPECT_LE(reached, best[m] * 1.1) << "seed " << seed << ", " << m << " changes";
      sum += reached / best[m];
      ++count;
    }
  }
  EXPECT_LE(sum / count, 1.005);
}

TEST(Rewire, FewChangesBringMostOfTheGain) {
  const DemandMatrix before = public_matrix();
  const Matrix<int> laid = wire(WireProblem{before, 6, 1}, Allocator::kSplit).circuits;
  // One pair turns hot.
  WireProblem after{before, 6, 1};
  after.demand(2, 6) = 60'000;
  const Matrix<int> fresh = wire(after, Allocator::kSplit).circuits;
  const std::vector<RewireOption> frontier = rewire_frontier(after, laid, fresh, Allocator::kSplit);
  const double gain = frontier.front().completion - frontier.back().completion;
  ASSERT_GT(gain, 0);
  bool found = false;
  for (const RewireOption& option : frontier) {
    found = found ||
            (option.changed <= 4 && frontier.front().completion - option.completion > 0.5 * gain);
  }
  EXPECT_TRUE(found);
}

TEST(Rewire, NothingToDo) {
  const WireProblem problem{public_matrix(), 6, 2};
  const Matrix<int> laid = wire(problem, Allocator::kSplit).circuits;
  // The public matrix meets its bound: no change brings anything.
  EXPECT_EQ(rewire_frontier(problem, laid, laid, Allocator::kSplit).size(), 1u);
  const WireProblem silent{DemandMatrix(8, 8, 0.0), 6, 2};
  EXPECT_EQ(rewire_frontier(silent, laid, Matrix<int>(8, 8, 0), Allocator::kSplit).size(), 1u);
}

TEST(Rewire, DemandWithoutAnyWayFindsOne) {
  WireProblem problem{DemandMatrix(4, 4, 0.0), 1, 0};
  problem.demand(0, 1) = 1;
  problem.demand(2, 3) = 1;
  Matrix<int> laid(4, 4, 0);
  laid(0, 2) = laid(2, 0) = 1;
  const Matrix<int> fresh = wire(problem, Allocator::kSplit).circuits;
  const std::vector<RewireOption> frontier =
      rewire_frontier(problem, laid, fresh, Allocator::kSplit);
  EXPECT_EQ(frontier.front().completion, kNever);
  EXPECT_EQ(frontier.back().completion, 1);
  EXPECT_EQ(frontier.back().changed, 2);
}

TEST(Rewire, PricesDecide) {
  const Instance at = make_instance(8, 6, 2, 3);
  const std::vector<RewireOption> frontier =
      rewire_frontier(at.problem, at.laid, at.fresh, Allocator::kSplit);
  ASSERT_GE(frontier.size(), 3u);
  std::vector<double> cost(frontier.size(), 0);
  EXPECT_EQ(best_rewire(frontier, cost, 1), frontier.size() - 1);
  for (std::size_t k = 0; k < cost.size(); ++k) {
    cost[k] = 1e12 * frontier[k].changed;
  }
  EXPECT_EQ(best_rewire(frontier, cost, 1), 0u);
  // A price in between, against the definition.
  for (std::size_t k = 0; k < cost.size(); ++k) {
    cost[k] = 2e4 * frontier[k].changed;
  }
  const std::size_t chosen = best_rewire(frontier, cost, 2);
  for (std::size_t k = 0; k < cost.size(); ++k) {
    EXPECT_LE(2 * frontier[chosen].completion + cost[chosen], 2 * frontier[k].completion + cost[k]);
  }
}

}  // namespace
}  // namespace mixnet::plan
