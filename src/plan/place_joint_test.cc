#include "plan/place_joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"

namespace mixnet::plan {
namespace {

// Log-normal popularity of experts, log-normal taste of sources.
JointProblem random_problem(std::size_t servers, int gpus_per_server, std::size_t experts,
                            uint64_t seed) {
  RandomStream random(seed, "joint placement");
  JointProblem problem;
  problem.sent = DemandMatrix(servers, experts);
  problem.gpus_per_server = gpus_per_server;
  problem.alpha = 2;
  problem.eps = 1;
  for (std::size_t x = 0; x < experts; ++x) {
    const double popularity = random.log_normal(3, 0.8);
    for (std::size_t s = 0; s < servers; ++s) {
      problem.sent(s, x) = std::round(popularity * random.log_normal(2, 0.6));
    }
  }
  return problem;
}

std::vector<int> in_order(std::size_t experts) {
  std::vector<int> slots(experts);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

// Shortest completion of all placements on which no GPU computes more than `most`.
double best_of_all(const JointProblem& problem, double most) {
  std::vector<int> slots = in_order(problem.sent.cols());
  double best = wire_under(problem, slots).wiring.completion;
  do {
    const JointPlan plan = wire_under(problem, slots);
    if (plan.max_gpu_load <= most * (1 + 1e-12)) {
      best = std::min(best, plan.wiring.completion);
    }
  } while (std::next_permutation(slots.begin(), slots.end()));
  return best;
}

TEST(PlaceAndWire, CloseToTheBestOfAllPlacements) {
  double sum = 0;
  constexpr int kCases = 12;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    const JointProblem problem = random_problem(3, 1, 6, seed);
    const JointPlan start = wire_under(problem, in_order(6));
    const JointPlan plan = place_and_wire(problem, {in_order(6)});
    const double best = best_of_all(problem, start.max_gpu_load);
    EXPECT_GE(plan.wiring.completion, best * (1 - 1e-9)) << seed;
    EXPECT_LE(plan.wiring.completion, best * 1.12) << seed;
    sum += plan.wiring.completion / best;
  }
  EXPECT_LE(sum / kCases, 1.02);
}

TEST(PlaceAndWire, NeverLaterThanAnyStartNorThanTheBoundAllows) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const JointProblem problem = random_problem(4, 2, 32, seed);
    std::vector<int> reversed = in_order(32);
    std::reverse(reversed.begin(), reversed.end());
    const JointPlan plan = place_and_wire(problem, {in_order(32), reversed});
    const JointPlan first = wire_under(problem, in_order(32));
    const JointPlan second = wire_under(problem, reversed);
    EXPECT_LT(plan.wiring.completion, first.wiring.completion) << seed;
    EXPECT_LE(plan.wiring.completion, second.wiring.completion) << seed;
    EXPECT_LE(plan.max_gpu_load, std::max(first.max_gpu_load, second.max_gpu_load) * (1 + 1e-9));
    EXPECT_GE(plan.wiring.completion, any_placement_bound(problem, plan.slot_expert));
    // Every expert is still there, once.
    std::vector<int> sorted = plan.slot_expert;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, in_order(32));
    // The wiring is the one of the placement.
    EXPECT_EQ(plan.demand, demand_under(problem, plan.slot_expert));
    EXPECT_EQ(plan.wiring.completion, wire_under(problem, plan.slot_expert).wiring.completion);
  }
}

TEST(PlaceAndWire, ExpertsGoToTheirTokens) {
  // Server s has tokens for experts 3 - s and 7 - s only: placed there, nothing needs a NIC.
  JointProblem problem;
  problem.sent = DemandMatrix(4, 8);
  problem.alpha = 1;
  problem.eps = 1;
  for (std::size_t s = 0; s < 4; ++s) {
    problem.sent(s, 3 - s) = 100;
    problem.sent(s, 7 - s) = 100;
  }
  const JointPlan plan = place_and_wire(problem, {in_order(8)});
  EXPECT_EQ(plan.wiring.completion, 0);
  EXPECT_EQ(any_placement_bound(problem, plan.slot_expert), 0);
}

TEST(PlaceAndWire, WhatCannotGainStaysAsItIs) {
  JointProblem even;
  even.sent = DemandMatrix(4, 16, 5.0);
  even.alpha = 3;
  even.eps = 1;
  EXPECT_EQ(place_and_wire(even, {in_order(16)}).slot_expert, in_order(16));

  JointProblem silent = even;
  silent.sent = DemandMatrix(4, 16);
  EXPECT_EQ(place_and_wire(silent, {in_order(16)}).slot_expert, in_order(16));

  JointProblem alone = random_problem(1, 4, 8, 1);
  EXPECT_EQ(place_and_wire(alone, {in_order(8)}).slot_expert, in_order(8));
}

TEST(PlaceAndWire, CopiesShareTokensAndStayApart) {
  const JointProblem problem = random_problem(3, 2, 9, 5);
  // 12 slots on 6 GPUs: experts 0 to 2 twice.
  const std::vector<int> start{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2};
  const JointPlan plan = place_and_wire(problem, {start});
  for (std::size_t s = 0; s < plan.slot_expert.size(); s += 2) {
    EXPECT_NE(plan.slot_expert[s], plan.slot_expert[s + 1]);
  }
  double sent = 0;
  for (const double amount : problem.sent.cells()) {
    sent += amount;
  }
  double demanded = 0;
  for (const double amount : plan.demand.cells()) {
    demanded += amount;
  }
  EXPECT_NEAR(demanded, sent, 1e-9 * sent);
  EXPECT_LT(plan.wiring.completion, wire_under(problem, start).wiring.completion);
}

TEST(PlaceAndWire, EmptySlotsAndUnevenGpusAreFine) {
  const JointProblem problem = random_problem(2, 2, 5, 3);
  const std::vector<int> start{0, 1, -1, 2, 3, 4, -1};
  const JointPlan plan = place_and_wire(problem, {start});
  EXPECT_LE(plan.wiring.completion, wire_under(problem, start).wiring.completion);
  EXPECT_EQ(std::count(plan.slot_expert.begin(), plan.slot_expert.end(), -1), 2);
  const std::vector<std::size_t> gpus = {0, 0, 1, 1, 2, 2, 3};
  for (std::size_t s = 0; s < gpus.size(); ++s) {
    EXPECT_EQ(gpu_of(s, gpus.size(), 4), gpus[s]);
  }
}

TEST(PlaceAndWire, TheBudgetBoundsTheSearch) {
  const JointProblem problem = random_problem(4, 2, 32, 9);
  const JointPlan none = place_and_wire(problem, {in_order(32)}, JointBudget{1});
  const JointPlan some = place_and_wire(problem, {in_order(32)}, JointBudget{16});
  const JointPlan more = place_and_wire(problem, {in_order(32)}, JointBudget{400});
  EXPECT_LE(some.wiring.completion, none.wiring.completion);
  EXPECT_LE(more.wiring.completion, some.wiring.completion);
}

}  // namespace
}  // namespace mixnet::plan
