#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "plan/wire.h"

// Inputs and independent evaluators for the tests of plan/wire.
namespace mixnet::plan::test_support {

// The routing matrix of the released MixNet simulator: tokens from source (row) to expert.
inline DemandMatrix public_matrix() {
  static constexpr int tokens[8][8] = {{9810, 5338, 1231, 3042, 4452, 2004, 841, 6050},
                                       {9278, 6282, 839, 3722, 3821, 2903, 909, 5014},
                                       {10684, 5165, 1044, 2634, 4344, 3333, 675, 4889},
                                       {10897, 5629, 1086, 2114, 2762, 3463, 1059, 5758},
                                       {8684, 5666, 1046, 3955, 4334, 2952, 944, 5187},
                                       {8361, 5908, 777, 3043, 3984, 3422, 897, 6376},
                                       {10208, 5507, 1117, 4148, 3967, 3119, 904, 3798},
                                       {9781, 5211, 902, 3343, 4289, 2839, 1008, 5395}};
  DemandMatrix demand(8, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      demand(i, j) = tokens[i][j];
    }
  }
  return demand;
}

// The diagonal is set too: whoever reads it is wrong.
inline DemandMatrix log_normal_demand(std::size_t n, double sigma, uint64_t seed) {
  RandomStream random(seed, "wire test");
  DemandMatrix demand(n, n);
  for (double& d : demand.cells()) {
    d = 1e6 * random.log_normal(0, sigma);
  }
  return demand;
}

// Only `peers` destinations per server, drawn with repetition.
inline DemandMatrix sparse_demand(std::size_t n, int peers, uint64_t seed) {
  RandomStream random(seed, "sparse wire test");
  DemandMatrix demand(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < peers; ++k) {
      demand(i, random.below(n)) += random.log_normal(0, 1);
    }
  }
  return demand;
}

// Recomputes the completion from the amounts alone; NaN if the wiring is infeasible or any pair's
// bytes are not all delivered.
inline double checked_completion(const WireProblem& problem, const Wiring& wiring) {
  constexpr double wrong = std::numeric_limits<double>::quiet_NaN();
  const std::size_t n = problem.demand.rows();
  Matrix<double> load = wiring.circuit;
  Matrix<double> delivered(n, n, 0.0);
  for (const RelayShare& r : wiring.relay) {
    const auto src = static_cast<std::size_t>(r.src);
    const auto via = static_cast<std::size_t>(r.via);
    const auto dst = static_cast<std::size_t>(r.dst);
    if (r.amount < 0 || src == via || via == dst || src == dst) {
      return wrong;
    }
    load(src, via) += r.amount;
    load(via, dst) += r.amount;
    delivered(src, dst) += r.amount;
  }
  double completion = 0;
  for (std::size_t i = 0; i < n; ++i) {
    int degree = 0;
    double sent = 0;
    double received = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const int circuits = wiring.circuits(i, j);
      degree += circuits;
      sent += wiring.eps(i, j);
      received += wiring.eps(j, i);
      delivered(i, j) += wiring.circuit(i, j) + wiring.eps(i, j);
      const double wanted = i == j ? 0 : problem.demand(i, j);
      if (circuits < 0 || circuits != wiring.circuits(j, i) || (i == j && circuits != 0) ||
          wiring.circuit(i, j) < 0 || wiring.eps(i, j) < 0 || (circuits == 0 && load(i, j) > 0) ||
          std::abs(delivered(i, j) - wanted) > 1e-9 * wanted) {
        return wrong;
      }
      if (circuits > 0) {
        completion = std::max(completion, load(i, j) / circuits);
      }
    }
    if (degree > problem.alpha.of(i)) {
      return wrong;
    }
    for (const double electrical : {sent, received}) {
      if (electrical > 0) {
        completion = std::max(completion, electrical / problem.eps.of(i));
      }
    }
  }
  return completion;
}

// Does every server and direction fit into T with these circuits? Straight from the definition.
inline bool split_fits(const WireProblem& problem, const Matrix<int>& circuits, double time) {
  const std::size_t n = problem.demand.rows();
  for (std::size_t i = 0; i < n; ++i) {
    double out = 0;
    double in = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) {
        out += std::max(0.0, problem.demand(i, j) - circuits(i, j) * time);
        in += std::max(0.0, problem.demand(j, i) - circuits(i, j) * time);
      }
    }
    if (std::max(out, in) > problem.eps.of(i) * time) {
      return false;
    }
  }
  return true;
}

// The split time by bisection, relative precision 1e-12; +infinity if not even `never` is enough.
inline double split_time_by_bisection(const WireProblem& problem, const Matrix<int>& circuits,
                                      double never = 1e15) {
  double low = 0;
  double high = never;
  if (!split_fits(problem, circuits, high)) {
    return std::numeric_limits<double>::infinity();
  }
  for (int round = 0; round < 100; ++round) {
    const double middle = (low + high) / 2;
    (split_fits(problem, circuits, middle) ? high : low) = middle;
  }
  return high;
}

// Calls `visit` with every symmetric circuit matrix of row sums <= alpha.
inline void every_wiring(std::size_t n, int alpha,
                         const std::function<void(const Matrix<int>&)>& visit) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      pairs.emplace_back(i, j);
    }
  }
  Matrix<int> circuits(n, n, 0);
  std::vector<int> free(n, alpha);
  const std::function<void(std::size_t)> descend = [&](std::size_t at) {
    if (at == pairs.size()) {
      visit(circuits);
      return;
    }
    const auto [i, j] = pairs[at];
    const int most = std::min(free[i], free[j]);
    for (int c = 0; c <= most; ++c) {
      circuits(i, j) = circuits(j, i) = c;
      free[i] -= c;
      free[j] -= c;
      descend(at + 1);
      free[i] += c;
      free[j] += c;
    }
    circuits(i, j) = circuits(j, i) = 0;
  };
  descend(0);
}

}  // namespace mixnet::plan::test_support
