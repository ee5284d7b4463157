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

  double heaviest() const {
    return total.empty() ? 0 : *std::max_element(total.begin(), total.end());
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
    const double direct = reach.most(side.demand.row(i), problem.alpha, time);
    const double optical = std::max(0.0, side.total[i] - problem.eps * time);
    needed += optical + std::max(0.0, optical - direct);
  }
  // A circuit takes two ports, so an odd port of the region stays dark.
  const double ports = std::floor(static_cast<double>(n) * problem.alpha / 2) * 2;
  return needed <= ports * time * (1 + 1e-12);
}

bool residual_fits(const Side& side, const WireProblem& problem, double time) {
  CircuitReach reach;
  for (std::size_t i = 0; i < side.total.size(); ++i) {
    const double direct = reach.most(side.demand.row(i), problem.alpha, time);
    if (side.total[i] - direct > problem.eps * time + 1e-12 * side.total[i]) {
      return false;
    }
  }
  return true;
}

// Without electrical NICs a server reaches at most alpha peers.
bool too_many_peers(const Side& side, const WireProblem& problem) {
  for (std::size_t i = 0; i < side.total.size(); ++i) {
    const auto row = side.demand.row(i);
    if (std::count_if(row.begin(), row.end(), [](double d) { return d > 0; }) > problem.alpha) {
      return true;
    }
  }
  return false;
}

double heaviest_pair(const Side& side) {
  const auto cells = side.demand.cells();
  return *std::max_element(cells.begin(), cells.end());
}

}  // namespace

double port_bound(const WireProblem& problem) {
  const Side sent(problem.demand);
  const Side received(transposed(problem.demand));
  return std::max(sent.heaviest(), received.heaviest()) / (problem.alpha + problem.eps);
}

double any_wiring_bound(const WireProblem& problem) {
  double bound = port_bound(problem);
  if (bound == 0 || problem.alpha == 0) {
    return bound;
  }
  const double ports =
      std::floor(static_cast<double>(problem.demand.rows()) * problem.alpha / 2) * 2;
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
  if (bound == 0) {
    return bound;
  }
  for (const Side& side : {Side(problem.demand), Side(transposed(problem.demand))}) {
    if (problem.eps == 0 && too_many_peers(side, problem)) {
      return std::numeric_limits<double>::infinity();
    }
    const double enough = problem.eps == 0 ? heaviest_pair(side) : side.heaviest() / problem.eps;
    bound = last_failure(bound, std::max(bound, enough),
                         [&](double time) { return residual_fits(side, problem, time); });
  }
  return bound;
}

}  // namespace mixnet::plan
