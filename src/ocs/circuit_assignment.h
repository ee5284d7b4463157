#pragma once

#include <vector>

#include "core/matrix.h"
#include "ocs/region.h"

// Problem. A planner says how many circuits every pair of servers is to have; a switch wants to
// know which NIC goes to which. Switch as little as possible: a circuit that is there and still
// fits stays, because an untouched circuit keeps carrying traffic.
//
// A server may have fewer usable NICs than the plan takes (quarantine, a smaller server). Then
// circuits are given up one by one: of all pairs with a server that has too few NICs, one of the
// pair whose circuits carry the least each.
//
// Kept circuits are the most possible for every pair, min(there and usable, granted): NICs have one
// circuit each, so keeping one never costs another. New circuits take the lowest free NICs.
// O(given up * n^2 + n^2 + NICs log NICs).
namespace mixnet::ocs {

struct AssignmentProblem {
  Matrix<int> wanted;   // n x n for the n servers of the region: symmetric, zero diagonal
  DemandMatrix demand;  // n x n, >= 0: what decides which circuits are given up first
  std::vector<NicId> unusable;
};

struct GivenUp {
  int a = 0;  // servers, a < b
  int b = 0;
  int circuits = 0;
  auto operator<=>(const GivenUp&) const = default;
};

struct Assignment {
  std::vector<Circuit> circuits;  // ascending, no NIC twice, none of them unusable
  std::vector<GivenUp> given_up;  // ascending
};

// Pure and deterministic. `current`: the circuits that are there, no NIC twice.
Assignment assign_circuits(const Region& region, const AssignmentProblem& problem,
                           const std::vector<Circuit>& current);

}  // namespace mixnet::ocs
