#pragma once

#include <vector>

#include "core/matrix.h"
#include "plan/nic_counts.h"

// Circuit rules that look at one pair at a time. Demand of a pair {i, j} is what both directions
// send, added. Ties go to the larger demand, then to the lower indices (the paper leaves ties
// open). Every rule returns an n x n symmetric matrix with zero diagonal and row sums <= alpha_i.
// O((n^2 + n * alpha) log n).
namespace mixnet::plan {

// One turn of the rule: the pair with the longest time, and whether it got a circuit.
struct GreedyStep {
  int i = 0;
  int j = 0;               // > i
  double time_before = 0;  // demand / circuits before the step; +infinity without circuits
  bool granted = false;    // false: a server of the pair had no free port
};

enum class WhenBlocked {
  kStop,  // Algorithm 1 as printed: ends at the first slowest pair without ports
  kSkip,  // leave that pair as it is and go on with the next slowest
};

// Algorithm 1 of MixNet (SIGCOMM 2025, section 5.2): pairs with demand start at infinite time, so
// that each gets one circuit before any gets a second. Appends its steps to `trace` if not null.
Matrix<int> algorithm1_circuits(const DemandMatrix& demand, const NicCounts& alpha,
                                WhenBlocked when_blocked, std::vector<GreedyStep>* trace = nullptr);

// The rule of the released simulator: no infinite start; after the k-th grant of a pair its weight
// is divided by 100 * k, compounding; pairs of a full server are dropped; runs until none is left.
Matrix<int> released_circuits(const DemandMatrix& demand, const NicCounts& alpha);

// Symmetric n x n: what i and j send to each other, added; the diagonal is 0.
DemandMatrix both_directions(const DemandMatrix& demand);

}  // namespace mixnet::plan
