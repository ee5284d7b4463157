#pragma once

#include <span>

#include "core/matrix.h"
#include "plan/wire.h"

// Splitting every pair over its circuits and the electrical NICs.
//
// For given circuits the best split is water-filling: the smallest T with
//   sum_j max(0, D_ij - C_ij * T) <= eps * T   for every server i, and likewise for columns;
// each pair then sends min(D_ij, C_ij * T) over its circuits and the rest electrically.
//
// Choosing the circuits is hard (splittable demand on circuits beside a packet network is APX-hard
// in general, arXiv 2401.04638), so split_circuits() is a heuristic. The exact optimum is known
// only when it meets no_relay_bound().
namespace mixnet::plan {

// Smallest T with sum_j max(0, demand_j - circuits_j * T) <= eps * T; +infinity if some demand has
// neither. Newton's method on a convex piecewise linear function: at most one round per peer.
double water_fill_time(std::span<const double> demand, std::span<const int> circuits, int eps);

// The same over all servers and directions of a problem. The diagonal is ignored.
double split_time(const WireProblem& problem, const Matrix<int>& circuits);

// Circuits for splitting: the better of two starts (Algorithm 1 continuing past blocked pairs; a
// search over T that greedily covers what the electrical NICs cannot carry within T), improved by
// moving circuits of the slowest server until no single move helps. Stops early once split_time()
// is `good_enough`, e.g. a bound.
Matrix<int> split_circuits(const WireProblem& problem, double good_enough);

}  // namespace mixnet::plan
