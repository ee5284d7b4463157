#include "plan/relay_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/wire_greedy.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

// About 1 per NIC.
DemandMatrix unit_demand(std::size_t n, double sigma, uint64_t seed) {
  DemandMatrix demand = test_support::log_normal_demand(n, sigma, seed);
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    demand(i, i) = 0;
    double sent = 0;
    for (const double d : demand.row(i)) {
      sent += d;
    }
    most = std::max(most, sent);
  }
  for (double& d : demand.cells()) {
    d *= 8 / most;
  }
  return demand;
}

void converge(RelayFlow& flow) {
  for (const double tau : {0.1, 0.02, 0.005, 0.001, 0.0003}) {
    flow.descend(tau, 60);
  }
}

double completion_of(const RelayFlow& flow, const NicCounts& alpha, const NicCounts& eps) {
  return test_support::checked_completion(WireProblem{flow.demand(), alpha, eps}, flow.wiring());
}

TEST(RelayFlow, IsCloseToWhatDualityAllows) {
  for (const std::size_t n : {4, 8, 16, 32}) {
    for (const double sigma : {0.0, 0.5, 1.5}) {
      const DemandMatrix demand = unit_demand(n, sigma, n);
      RelayFlow flow(demand, 2, algorithm1_circuits(demand, 6, WhenBlocked::kSkip), 6);
      converge(flow);
      EXPECT_LE(flow.dual_bound(), flow.completion() * (1 + 1e-9));
      EXPECT_LE(flow.completion(), flow.dual_bound() * 1.006) << n << " " << sigma;
    }
  }
}

TEST(RelayFlow, TwoServersByHand) {
  DemandMatrix demand(2, 2, 0.0);
  demand(0, 1) = 3;
  Matrix<int> circuits(2, 2, 0);
  circuits(0, 1) = circuits(1, 0) = 2;
  RelayFlow flow(demand, 1, circuits, 2);
  converge(flow);
  EXPECT_NEAR(flow.completion(), 1, 1e-3);
}

// 0 -> 2 has no circuits, 1 is between: half of 2 units is relayed, half electrical.
TEST(RelayFlow, RelayByHand) {
  DemandMatrix demand(3, 3, 0.0);
  demand(0, 2) = 2;
  Matrix<int> circuits(3, 3, 0);
  circuits(0, 1) = circuits(1, 0) = circuits(1, 2) = circuits(2, 1) = 1;
  RelayFlow flow(demand, 1, circuits, 2);
  converge(flow);
  EXPECT_NEAR(flow.completion(), 1, 1e-3);
  const Wiring wiring = flow.wiring();
  ASSERT_EQ(wiring.relay.size(), 1U);
  EXPECT_EQ(wiring.relay[0].via, 1);
  EXPECT_NEAR(wiring.relay[0].amount, 1, 1e-2);
}

TEST(RelayFlow, BytesAreConservedThroughAnyChange) {
  constexpr std::size_t n = 9;
  const DemandMatrix demand = unit_demand(n, 1, 3);
  RelayFlow flow(demand, 2, algorithm1_circuits(demand, 4, WhenBlocked::kSkip), 4);
  flow.descend(0.05, 5);
  RandomStream random(1, "changes");
  std::vector<int> degree(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (const int c : flow.circuits().row(i)) {
      degree[i] += c;
    }
  }
  for (int round = 0; round < 400; ++round) {
    const std::size_t i = random.below(n);
    const std::size_t j = random.below(n);
    const int count = flow.circuits()(i, j) > 0 && random.below(2) == 0 ? -1 : 1;
    if (i == j || (count > 0 && std::max(degree[i], degree[j]) >= 4)) {
      continue;
    }
    flow.begin_trial();
    flow.change(i, j, count);
    flow.settle(2);
    flow.keep_trial();
    degree[i] += count;
    degree[j] += count;
    const double completion = completion_of(flow, 4, 2);
    ASSERT_NEAR(completion / flow.completion(), 1, 1e-9) << round;
  }
}

TEST(RelayFlow, UndoLeavesNoTrace) {
  constexpr std::size_t n = 10;
  const DemandMatrix demand = unit_demand(n, 1, 5);
  RelayFlow flow(demand, 2, algorithm1_circuits(demand, 4, WhenBlocked::kSkip), 4);
  flow.descend(0.05, 5);
  RandomStream random(2, "undo");
  for (int round = 0; round < 200; ++round) {
    const std::size_t i = random.below(n);
    const auto peers = [&](std::size_t server) {
      std::vector<std::size_t> list;
      flow.for_peers(server, [&](std::size_t k) { list.push_back(k); });
      return list;
    };
    const std::vector<std::size_t> list = peers(i);
    const std::size_t j = list[random.below(list.size())];
    const std::vector<std::size_t> others = peers(j);
    const std::size_t k = others[random.below(others.size())];
    const Wiring before = flow.wiring();
    const double potential = flow.potential();
    flow.begin_trial();
    flow.change(i, j, -1);
    if (flow.circuits()(j, k) > 0) {
      flow.change(j, k, -1);
      flow.change(j, k, 1);
    }
    flow.change(i, j, 1);
    flow.settle(3);
    flow.undo_trial();
    const Wiring after = flow.wiring();
    ASSERT_EQ(before.circuits, after.circuits);
    ASSERT_EQ(before.circuit, after.circuit);
    ASSERT_EQ(before.eps, after.eps);
    ASSERT_DOUBLE_EQ(potential, flow.potential());
  }
}

}  // namespace
}  // namespace mixnet::plan
