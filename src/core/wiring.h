#pragma once

#include <vector>

#include "core/matrix.h"

namespace mixnet {

// `amount` goes src -> via -> dst over two circuits.
struct RelayShare {
  int src = 0;
  int via = 0;
  int dst = 0;
  double amount = 0;
};

// An answer of plan/wire for n servers: who gets circuits, and what travels where. All amounts in
// the unit of the demand, off-diagonal only:
//   demand(i, j) = circuit(i, j) + eps(i, j) + sum of relay amounts from i to j.
struct Wiring {
  Matrix<int> circuits;    // n x n, symmetric, zero diagonal: duplex circuits per pair
  Matrix<double> circuit;  // n x n, over the pair's own circuits
  Matrix<double> eps;      // n x n, over the electrical NICs
  std::vector<RelayShare> relay;
  double completion = 0;  // time at one unit of demand per NIC and unit of time
  double bound = 0;       // no wiring of this demand completes earlier
};

}  // namespace mixnet
