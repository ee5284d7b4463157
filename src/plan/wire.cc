#include "plan/wire.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plan/never.h"
#include "plan/wire_greedy.h"
#include "plan/wire_relay.h"
#include "plan/wire_split.h"

namespace mixnet::plan {
namespace {

void check_problem(const WireProblem& problem) {
  CHECK(problem.demand.rows() == problem.demand.cols(), "the demand matrix is not square");
  CHECK(problem.alpha.fits(problem.demand.rows()) && problem.eps.fits(problem.demand.rows()),
        "NICs are counted for every server of the demand");
  for (const double d : problem.demand.cells()) {
    CHECK(std::isfinite(d) && d >= 0, "demand is negative or not finite");
  }
}

double time_over(double amount, int nics) {
  if (amount <= 0) {
    return 0;
  }
  return nics > 0 ? amount / nics : kNever;
}

// Slowest circuit group or electrical side of a server, from the amounts alone.
double completion_of(const Wiring& wiring, const NicCounts& eps) {
  const std::size_t n = wiring.circuits.rows();
  Matrix<double> load = wiring.circuit;
  for (const RelayShare& share : wiring.relay) {
    const auto via = static_cast<std::size_t>(share.via);
    load(static_cast<std::size_t>(share.src), via) += share.amount;
    load(via, static_cast<std::size_t>(share.dst)) += share.amount;
  }
  double completion = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sent = 0;
    double received = 0;
    for (std::size_t j = 0; j < n; ++j) {
      completion = std::max(completion, time_over(load(i, j), wiring.circuits(i, j)));
      sent += wiring.eps(i, j);
      received += wiring.eps(j, i);
    }
    completion = std::max({completion, time_over(sent, eps.of(i)), time_over(received, eps.of(i))});
  }
  return completion;
}

// Relays are counted in units of a bound: there must be demand, and NICs for it.
bool can_relay(double bound) { return bound > 0 && bound < kNever; }

Wiring with_circuits(Matrix<int> circuits) {
  const std::size_t n = circuits.rows();
  Wiring wiring;
  wiring.circuits = std::move(circuits);
  wiring.circuit = Matrix<double>(n, n, 0.0);
  wiring.eps = Matrix<double>(n, n, 0.0);
  return wiring;
}

Wiring all_or_nothing(const DemandMatrix& demand, Matrix<int> circuits) {
  Wiring wiring = with_circuits(std::move(circuits));
  const std::size_t n = demand.rows();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) {
        (wiring.circuits(i, j) > 0 ? wiring.circuit : wiring.eps)(i, j) = demand(i, j);
      }
    }
  }
  return wiring;
}

Wiring split_over(const WireProblem& problem, Matrix<int> circuits) {
  const double time = split_time(problem, circuits);
  Wiring wiring = with_circuits(std::move(circuits));
  const std::size_t n = problem.demand.rows();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) {
        continue;
      }
      const int count = wiring.circuits(i, j);
      const double direct = count > 0 ? std::min(problem.demand(i, j), count * time) : 0;
      wiring.circuit(i, j) = direct;
      wiring.eps(i, j) = problem.demand(i, j) - direct;
    }
  }
  return wiring;
}

}  // namespace

Wiring wire(const WireProblem& problem, Allocator allocator) {
  check_problem(problem);
  const double bound = any_wiring_bound(problem);
  Wiring wiring;
  switch (allocator) {
    case Allocator::kAlgorithm1:
      wiring = all_or_nothing(
          problem.demand, algorithm1_circuits(problem.demand, problem.alpha, WhenBlocked::kStop));
      break;
    case Allocator::kReleased:
      wiring = all_or_nothing(problem.demand, released_circuits(problem.demand, problem.alpha));
      break;
    case Allocator::kSplit:
      wiring = split_over(problem, split_circuits(problem, no_relay_bound(problem)));
      break;
    case Allocator::kRelay:
      return wire_with_relays(problem, relay_budget(problem.demand.rows()));
  }
  wiring.completion = completion_of(wiring, problem.eps);
  wiring.bound = bound;
  return wiring;
}

Wiring wire_with_relays(const WireProblem& problem, const RelayBudget& budget) {
  check_problem(problem);
  // Up to this size splitting alone is quick, and often as good as can be.
  constexpr std::size_t kSplitIsQuick = 8;
  Wiring split;
  split.completion = kNever;
  const bool relays = can_relay(port_bound(problem));
  if (!relays || problem.demand.rows() <= kSplitIsQuick) {
    const double bound = any_wiring_bound(problem);
    split = split_over(problem, split_circuits(problem, bound));
    split.bound = bound;
    split.completion = completion_of(split, problem.eps);
    if (!relays || split.completion <= split.bound) {
      return split;
    }
  }
  Wiring wiring = relay_wiring(problem, budget);
  wiring.completion = completion_of(wiring, problem.eps);
  return wiring.completion <= split.completion ? wiring : split;
}

Wiring route_over(const WireProblem& problem, const Matrix<int>& circuits, Allocator allocator) {
  check_problem(problem);
  CHECK(circuits.rows() == problem.demand.rows() && circuits.cols() == circuits.rows(),
        "circuits for the servers of the demand");
  const bool whole_pairs = allocator == Allocator::kAlgorithm1 || allocator == Allocator::kReleased;
  const bool relays = allocator == Allocator::kRelay && can_relay(port_bound(problem));
  Wiring wiring = whole_pairs ? all_or_nothing(problem.demand, circuits)
                  : relays    ? relay_over(problem, circuits)
                              : split_over(problem, circuits);
  wiring.completion = completion_of(wiring, problem.eps);
  wiring.bound = any_wiring_bound(problem);
  return wiring;
}

double reported_ratio(const WireProblem& problem, const Wiring& wiring, Allocator allocator) {
  if (wiring.bound == 0) {
    return 1;
  }
  if (allocator == Allocator::kSplit || allocator == Allocator::kRelay) {
    return wiring.completion / wiring.bound;
  }
  const WireProblem added{both_directions(problem.demand), problem.alpha, problem.eps};
  const Wiring same_circuits = all_or_nothing(added.demand, wiring.circuits);
  return completion_of(same_circuits, problem.eps) / port_bound(added);
}

}  // namespace mixnet::plan
