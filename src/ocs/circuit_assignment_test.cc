#include "ocs/circuit_assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "core/random.h"

namespace mixnet::ocs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Server i has the NICs i * per_server to i * per_server + per_server - 1.
Region region_of(int servers, int per_server) {
  const int nics = servers * per_server;
  std::vector<std::string> names;
  std::vector<Nic> list;
  for (int s = 0; s < servers; ++s) {
    names.push_back("s" + std::to_string(s));
    for (int k = 0; k < per_server; ++k) {
      const int at = s * per_server + k + 1;
      const std::string interface = "n" + std::to_string(k);
      list.push_back(
          Nic{names.back() + "/" + interface, s, interface, PortId(at), PortId(at + nics)});
    }
  }
  return Region::make(SwitchSize{nics, nics}, names, list).value();
}

Circuit circuit_of(int a, int b) { return circuit_between(NicId(a), NicId(b)); }

AssignmentProblem problem_of(int servers) {
  const auto n = static_cast<std::size_t>(servers);
  return AssignmentProblem{Matrix<int>(n, n), DemandMatrix(n, n, 1.0), {}};
}

void want(AssignmentProblem& problem, std::size_t a, std::size_t b, int circuits) {
  problem.wanted(a, b) = problem.wanted(b, a) = circuits;
}

void demand(AssignmentProblem& problem, std::size_t a, std::size_t b, double amount) {
  problem.demand(a, b) = problem.demand(b, a) = amount;
}

TEST(CircuitAssignment, NewCircuitsTakeTheLowestFreeNics) {
  AssignmentProblem problem = problem_of(3);
  want(problem, 0, 1, 2);
  want(problem, 1, 2, 1);
  const Assignment got = assign_circuits(region_of(3, 3), problem, {});
  EXPECT_THAT(got.circuits, ElementsAre(circuit_of(0, 3), circuit_of(1, 4), circuit_of(5, 6)));
  EXPECT_THAT(got.given_up, IsEmpty());
}

TEST(CircuitAssignment, WhatStillFitsStays) {
  AssignmentProblem problem = problem_of(3);
  want(problem, 0, 1, 1);
  want(problem, 0, 2, 2);
  // Two circuits of 0-1, of which one stays; one of 1-2, of which none does.
  const Assignment got = assign_circuits(region_of(3, 3), problem,
                                         {circuit_of(4, 7), circuit_of(2, 3), circuit_of(1, 5)});
  EXPECT_THAT(got.circuits, ElementsAre(circuit_of(0, 6), circuit_of(1, 5), circuit_of(2, 7)));
}

TEST(CircuitAssignment, AnUnusableNicLosesItsCircuitToAnotherOne) {
  AssignmentProblem problem = problem_of(2);
  want(problem, 0, 1, 1);
  problem.unusable = {NicId(0)};
  const Assignment got = assign_circuits(region_of(2, 2), problem, {circuit_of(0, 2)});
  EXPECT_THAT(got.circuits, ElementsAre(circuit_of(1, 2)));
  EXPECT_THAT(got.given_up, IsEmpty());
}

TEST(CircuitAssignment, TooFewNicsGiveUpWhatCarriesTheLeastPerCircuit) {
  AssignmentProblem problem = problem_of(3);
  want(problem, 0, 1, 2);
  want(problem, 0, 2, 1);
  demand(problem, 0, 1, 10);  // 10 each for the two circuits, both directions
  demand(problem, 0, 2, 8);   // 16 for the one
  problem.unusable = {NicId(1)};
  const Assignment got = assign_circuits(region_of(3, 3), problem, {});
  EXPECT_THAT(got.given_up, ElementsAre(GivenUp{0, 1, 1}));
  EXPECT_THAT(got.circuits, ElementsAre(circuit_of(0, 3), circuit_of(2, 6)));
}

TEST(CircuitAssignment, AServerWithoutNicsGivesUpAll) {
  AssignmentProblem problem = problem_of(2);
  want(problem, 0, 1, 2);
  problem.unusable = {NicId(2), NicId(3)};
  const Assignment got = assign_circuits(region_of(2, 2), problem, {circuit_of(0, 2)});
  EXPECT_THAT(got.given_up, ElementsAre(GivenUp{0, 1, 2}));
  EXPECT_THAT(got.circuits, IsEmpty());
}

// --- properties on random plans ---------------------------------------------------------------

struct RandomCase {
  Region region;
  AssignmentProblem problem;
  std::vector<Circuit> current;
};

std::vector<Circuit> random_circuits(const Region& region, RandomStream& random) {
  std::vector<NicId> nics;
  for (std::size_t i = 0; i < region.nics().size(); ++i) {
    nics.push_back(NicId(static_cast<int32_t>(i)));
  }
  random.shuffle(std::span<NicId>(nics));
  std::vector<Circuit> circuits;
  for (std::size_t i = 0; i + 1 < nics.size(); i += 2) {
    if (region.nic(nics[i]).server != region.nic(nics[i + 1]).server && random.below(4) != 0) {
      circuits.push_back(circuit_between(nics[i], nics[i + 1]));
    }
  }
  return circuits;
}

RandomCase random_case(RandomStream& random) {
  const int servers = 2 + static_cast<int>(random.below(6));
  const int per_server = 1 + static_cast<int>(random.below(6));
  RandomCase c{region_of(servers, per_server), problem_of(servers), {}};
  c.current = random_circuits(c.region, random);
  for (const Circuit wanted : random_circuits(c.region, random)) {
    const auto a = static_cast<std::size_t>(c.region.nic(wanted.a).server);
    const auto b = static_cast<std::size_t>(c.region.nic(wanted.b).server);
    want(c.problem, a, b, c.problem.wanted(a, b) + 1);
    demand(c.problem, a, b, static_cast<double>(random.below(100)));
  }
  for (std::size_t i = 0; i < c.region.nics().size(); ++i) {
    if (random.below(8) == 0) {
      c.problem.unusable.push_back(NicId(static_cast<int32_t>(i)));
    }
  }
  return c;
}

Matrix<int> count_by_pair(const Region& region, const std::vector<Circuit>& circuits) {
  const std::size_t n = region.servers().size();
  Matrix<int> counts(n, n);
  for (const Circuit c : circuits) {
    const auto a = static_cast<std::size_t>(region.nic(c.a).server);
    const auto b = static_cast<std::size_t>(region.nic(c.b).server);
    ++counts(a, b);
    ++counts(b, a);
  }
  return counts;
}

bool usable(const RandomCase& c, Circuit circuit_of) {
  const auto& bad = c.problem.unusable;
  return std::find(bad.begin(), bad.end(), circuit_of.a) == bad.end() &&
         std::find(bad.begin(), bad.end(), circuit_of.b) == bad.end();
}

TEST(CircuitAssignment, PropertiesHoldForRandomPlans) {
  RandomStream random(7, "circuit-assignment");
  for (int run = 0; run < 500; ++run) {
    const RandomCase c = random_case(random);
    const Assignment got = assign_circuits(c.region, c.problem, c.current);
    ASSERT_TRUE(check_circuits(c.region, got.circuits).ok()) << run;
    ASSERT_TRUE(std::is_sorted(got.circuits.begin(), got.circuits.end())) << run;

    Matrix<int> granted = c.problem.wanted;
    for (const GivenUp& up : got.given_up) {
      granted(static_cast<std::size_t>(up.a), static_cast<std::size_t>(up.b)) -= up.circuits;
      granted(static_cast<std::size_t>(up.b), static_cast<std::size_t>(up.a)) -= up.circuits;
    }
    ASSERT_EQ(count_by_pair(c.region, got.circuits), granted) << run;

    std::vector<Circuit> kept;
    std::vector<Circuit> keepable;
    for (const Circuit there : c.current) {
      if (usable(c, there)) {
        keepable.push_back(there);
      }
      if (std::binary_search(got.circuits.begin(), got.circuits.end(), there)) {
        kept.push_back(there);
      }
    }
    const Matrix<int> kept_by_pair = count_by_pair(c.region, kept);
    const Matrix<int> keepable_by_pair = count_by_pair(c.region, keepable);
    for (std::size_t a = 0; a < granted.rows(); ++a) {
      for (std::size_t b = 0; b < granted.cols(); ++b) {
        ASSERT_EQ(kept_by_pair(a, b), std::min(keepable_by_pair(a, b), granted(a, b))) << run;
      }
    }
    for (const Circuit circuit_of : got.circuits) {
      ASSERT_TRUE(usable(c, circuit_of)) << run;
    }
    // The same again changes nothing.
    ASSERT_EQ(assign_circuits(c.region, c.problem, got.circuits).circuits, got.circuits) << run;
  }
}

TEST(CircuitAssignment, NothingIsGivenUpWhileEveryServerHasTheNics) {
  RandomStream random(8, "circuit-assignment");
  int short_of_nics = 0;
  for (int run = 0; run < 500; ++run) {
    const RandomCase c = random_case(random);
    std::vector<int> spare(c.region.servers().size());
    for (std::size_t i = 0; i < c.region.nics().size(); ++i) {
      const auto& bad = c.problem.unusable;
      const NicId nic(static_cast<int32_t>(i));
      spare[static_cast<std::size_t>(c.region.nic(nic).server)] +=
          std::find(bad.begin(), bad.end(), nic) == bad.end() ? 1 : 0;
    }
    for (std::size_t i = 0; i < spare.size(); ++i) {
      for (const int circuits : c.problem.wanted.row(i)) {
        spare[i] -= circuits;
      }
    }
    const bool fits = *std::min_element(spare.begin(), spare.end()) >= 0;
    short_of_nics += fits ? 0 : 1;
    ASSERT_EQ(assign_circuits(c.region, c.problem, c.current).given_up.empty(), fits) << run;
  }
  EXPECT_GT(short_of_nics, 50);
  EXPECT_LT(short_of_nics, 450);
}

}  // namespace
}  // namespace mixnet::ocs
