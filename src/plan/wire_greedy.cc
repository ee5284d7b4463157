#include "plan/wire_greedy.h"

#include <cstddef>
#include <limits>
#include <queue>
#include <tuple>

namespace mixnet::plan {
namespace {

// A pair in the queue of either rule; `urgency` is what the rule maximises.
struct Candidate {
  double urgency = 0;
  double demand = 0;
  std::size_t i = 0;
  std::size_t j = 0;

  // The queue's top is the largest: the most urgent, then the larger demand, the lower indices.
  bool operator<(const Candidate& o) const {
    return std::tie(urgency, demand, o.i, o.j) < std::tie(o.urgency, o.demand, i, j);
  }
};

using CandidateQueue = std::priority_queue<Candidate>;

struct Ports {
  Ports(std::size_t n, const NicCounts& alpha) : circuits(n, n, 0) {
    for (std::size_t i = 0; i < n; ++i) {
      free.push_back(alpha.of(i));
    }
  }

  bool grant(std::size_t i, std::size_t j) {
    if (free[i] == 0 || free[j] == 0) {
      return false;
    }
    circuits(i, j) += 1;
    circuits(j, i) += 1;
    free[i] -= 1;
    free[j] -= 1;
    return true;
  }

  Matrix<int> circuits;
  std::vector<int> free;
};

}  // namespace

DemandMatrix both_directions(const DemandMatrix& demand) {
  const std::size_t n = demand.rows();
  DemandMatrix sum(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      sum(i, j) = i == j ? 0.0 : demand(i, j) + demand(j, i);
    }
  }
  return sum;
}

Matrix<int> algorithm1_circuits(const DemandMatrix& demand, const NicCounts& alpha,
                                WhenBlocked when_blocked, std::vector<GreedyStep>* trace) {
  const DemandMatrix sum = both_directions(demand);
  const std::size_t n = sum.rows();
  Ports ports(n, alpha);
  CandidateQueue queue;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (sum(i, j) > 0) {
        queue.push(Candidate{std::numeric_limits<double>::infinity(), sum(i, j), i, j});
      }
    }
  }
  while (!queue.empty()) {
    const Candidate slowest = queue.top();
    queue.pop();
    const std::size_t i = slowest.i;
    const std::size_t j = slowest.j;
    const bool granted = ports.grant(i, j);
    if (trace != nullptr) {
      trace->push_back(
          GreedyStep{static_cast<int>(i), static_cast<int>(j), slowest.urgency, granted});
    }
    if (granted) {
      queue.push(Candidate{sum(i, j) / ports.circuits(i, j), sum(i, j), i, j});
    } else if (when_blocked == WhenBlocked::kStop) {
      break;
    }
  }
  return ports.circuits;
}

Matrix<int> released_circuits(const DemandMatrix& demand, const NicCounts& alpha) {
  const DemandMatrix sum = both_directions(demand);
  const std::size_t n = sum.rows();
  Ports ports(n, alpha);
  CandidateQueue queue;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (sum(i, j) > 0) {
        queue.push(Candidate{sum(i, j), sum(i, j), i, j});
      }
    }
  }
  while (!queue.empty()) {
    const Candidate heaviest = queue.top();
    queue.pop();
    if (!ports.grant(heaviest.i, heaviest.j)) {
      continue;  // a full server: its pairs are out for good
    }
    const double weight = heaviest.urgency / (ports.circuits(heaviest.i, heaviest.j) * 100.0);
    if (weight > 0) {
      queue.push(Candidate{weight, heaviest.demand, heaviest.i, heaviest.j});
    }
  }
  return ports.circuits;
}

}  // namespace mixnet::plan
