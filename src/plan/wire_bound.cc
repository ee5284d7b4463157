#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "plan/wire.h"

namespace mixnet::plan {
namespace {

// What each server sends, and what it receives: one list of demands per server and direction.
struct Side {
  explicit Side(const DemandMatrix& m) : demand(m), total(m.rows(), 0.0) {
    for (std::size_t i = 0; i < m.rows(); ++i) {
      demand(i, i) = 0;
      for (const double d : demand.row(i)) {
        total[i] += d;
      }
    }
  }

  DemandMatrix demand;
  std::vector<double> total;
};

// h(T): the most that `alpha` circuits of one server carry to (or from) its peers within T.
// A circuit of a pair carries T while the pair has that much left, then the remainder once.
class CircuitReach {
 public:
  double most(std::span<const double> demand, int alpha, double time) {
    remainders_.clear();
    double full = 0;
    for (const double d : demand) {
      const double whole = std::floor(d / time);
      full += whole;
      if (full >= alpha) {
        return alpha * time;
      }
      remainders_.push_back(d - whole * time);
    }
    const std::size_t left =
        std::min(remainders_.size(), static_cast<std::size_t>(alpha - static_cast<int>(full)));
    std::partial_sort(remainders_.begin(), remainders_.begin() + static_cast<std::ptrdiff_t>(left),
                      remainders_.end(), std::greater<>());
    double sum = full * time;
    for (std::size_t k = 0; k < left; ++k) {
      sum += remainders_[k];
    }
    return sum;
  }

 private:
  std::vector<double> remainders_;
};

// Largest T, to double precision, at which `fits` still fails; `low` if it never does.
template <typename Fits>
double last_failure(double low, double high, const Fits& fits) {
  if (fits(low)) {
    return low;
  }
  for (int round = 0; round < 48; ++round) {
    const double middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return low;
}

bool hops_fit(const Side& side, const WireProblem& problem, double time) {
  const std::size_t n = side.total.size();
  CircuitReach reach;
  double needed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double direct = reach.most(side.demand.row(i), problem.alpha.of(i), time);
    const double optical = std::max(0.0, side.total[i] - problem.eps.of(i) * time);
    needed += optical + std::max(0.0, optical - direct);
  }
  // A circuit takes two ports, so an odd port of the region stays dark.
  const int ports = problem.alpha.total(n) / 2 * 2;
  return needed <= ports * time * (1 + 1e-12);
}

bool residual_fits(const Side& side, const WireProblem& problem, double time) {
  CircuitReach reach;
  for (std::size_t i = 0; i < side.total.size(); ++i) {
    const double direct = reach.most(side.demand.row(i), problem.alpha.of(i), time);
    if (side.total[i] - direct > problem.eps.of(i) * time + 1e-12 * side.total[i]) {
      return false;
    }
  }
  return true;
}

// A time within which every server carries its demand without relays, were its peers' ports free:
// +infinity if a server has no electrical NIC and more peers than circuits.
double enough_time(const Side& side, const WireProblem& problem) {
  double enough = 0;
  for (std::size_t i = 0; i < side.total.size(); ++i) {
    const auto row = side.demand.row(i);
    if (problem.eps.of(i) > 0) {
      enough = std::max(enough, side.total[i] / problem.eps.of(i));
    } else if (std::count_if(row.begin(), row.end(), [](double d) { return d > 0; }) >
               problem.alpha.of(i)) {
      return std::numeric_limits<double>::infinity();
    } else if (!row.empty()) {
      enough = std::max(enough, *std::max_element(row.begin(), row.end()));
    }
  }
  return enough;
}

}  // namespace

double port_bound(const WireProblem& problem) {
  double bound = 0;
  for (const Side& side : {Side(problem.demand), Side(transposed(problem.demand))}) {
    for (std::size_t i = 0; i < side.total.size(); ++i) {
      if (side.total[i] > 0) {
        bound = std::max(bound, side.total[i] / (problem.alpha.of(i) + problem.eps.of(i)));
      }
    }
  }
  return bound;
}

double any_wiring_bound(const WireProblem& problem) {
  double bound = port_bound(problem);
  const int ports = problem.alpha.total(problem.demand.rows()) / 2 * 2;
  if (bound == 0 || bound == std::numeric_limits<double>::infinity() || ports == 0) {
    return bound;
  }
  for (const Side& side : {Side(problem.demand), Side(transposed(problem.demand))}) {
    double total = 0;
    for (const double t : side.total) {
      total += t;
    }
    bound = last_failure(bound, std::max(bound, 2 * total / ports),
                         [&](double time) { return hops_fit(side, problem, time); });
  }
  return bound;
}

double no_relay_bound(const WireProblem& problem) {
  double bound = any_wiring_bound(problem);
  if (bound == 0 || bound == std::numeric_limits<double>::infinity()) {
    return bound;
  }
  for (const Side& side : {Side(problem.demand), Side(transposed(problem.demand))}) {
    const double enough = enough_time(side, problem);
    if (enough == std::numeric_limits<double>::infinity()) {
      return enough;
    }
    bound = last_failure(bound, std::max(bound, enough),
                         [&](double time) { return residual_fits(side, problem, time); });
  }
  return bound;
}

}  // namespace mixnet::plan
