#include "plan/coverage_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace mixnet::plan {
namespace {

constexpr double kWeight = 0.1;
// First-order estimates that miss the limit by less than this share of T are checked.
constexpr double kMargin = 0.02;
// What a server without electrical NICs cannot reach is as bad as this little capacity.
constexpr double kNoNic = 0.25;
constexpr std::size_t kCandidates = 12;
constexpr int64_t kExactWork = 200;  // and as much again for every 16 servers
constexpr int64_t kProposalWork = 12;

}  // namespace

CoverageSearch::CoverageSearch(const DemandMatrix& demand, const NicCounts& alpha,
                               const NicCounts& eps, double time, const Matrix<int>& circuits)
    : n_(demand.rows()),
      demand_(demand),
      time_(time),
      circuits_(n_, n_, 0),
      ways_(n_, n_, 0),
      peers_(n_),
      out_(n_, 0.0),
      in_(n_, 0.0),
      slope_out_(n_, 0.0),
      slope_in_(n_, 0.0),
      penalty_(n_, 0.0),
      worth_(n_, n_, 0.0F),
      unreached_(n_, n_, 0.0F),
      beyond_(n_, n_, 0.0F),
      direct_gain_(n_, n_, 0.0F),
      gain_(n_, n_, 0.0F),
      loss_(n_, n_, 0.0F),
      is_touched_(n_, 0) {
  for (std::size_t i = 0; i < n_; ++i) {
    free_.push_back(alpha.of(i));
    scale_.push_back(1 / ((eps.of(i) > 0 ? eps.of(i) : kNoNic) * time));
    for (std::size_t j = 0; j < n_; ++j) {
      out_[i] += demand(i, j);
      in_[j] += demand(i, j);
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = i + 1; j < n_; ++j) {
      direct_gain_(i, j) = direct_gain_(j, i) = static_cast<float>(direct(i, j, 1));
      for (int c = 0; c < circuits(i, j); ++c) {
        add(i, j);
      }
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    touch(i);
  }
  settle();
}

double CoverageSearch::direct(std::size_t i, std::size_t j, int count) const {
  return std::min(demand_(i, j), count * time_) + std::min(demand_(j, i), count * time_);
}

double CoverageSearch::penalty(double unreached, std::size_t server) const {
  double x = std::max(0.0, unreached) * scale_[server] / reference_;
  for (int k = 0; k < doublings_; ++k) {
    x *= x;
  }
  return kWeight * time_ * x;
}

double CoverageSearch::slope(double unreached, std::size_t server) const {
  const double x = std::max(0.0, unreached) * scale_[server] / reference_;
  return x > 0 ? penalty(unreached, server) / unreached * (1 << doublings_) : 0;
}

double CoverageSearch::worst() const {
  double x = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    x = std::max({x, out_[i] * scale_[i], in_[i] * scale_[i]});
  }
  return x;
}

void CoverageSearch::sharpen(int doublings, double reference) {
  doublings_ = doublings;
  reference_ = reference;
  for (std::size_t i = 0; i < n_; ++i) {
    touch(i);
  }
  settle();
}

void CoverageSearch::touch(std::size_t server) {
  if (is_touched_[server] == 0) {
    is_touched_[server] = 1;
    touched_.push_back(server);
  }
}

void CoverageSearch::flip(std::size_t i, std::size_t j, bool now_reached) {
  const double sign = now_reached ? -1 : 1;
  out_[i] += sign * demand_(i, j);
  in_[j] += sign * demand_(i, j);
  out_[j] += sign * demand_(j, i);
  in_[i] += sign * demand_(j, i);
  touch(i);
  touch(j);
}

void CoverageSearch::count_path(std::size_t i, std::size_t j, int change) {
  const bool before = reached(i, j);
  ways_(i, j) = ways_(j, i) = static_cast<uint16_t>(ways_(i, j) + change);
  if (before != reached(i, j)) {
    flip(i, j, !before);
  }
}

void CoverageSearch::add(std::size_t i, std::size_t j) {
  const int count = circuits_(i, j);
  direct_ += direct(i, j, count + 1) - direct(i, j, count);
  --free_[i];
  --free_[j];
  const bool before = reached(i, j);
  circuits_(i, j) = circuits_(j, i) = count + 1;
  direct_gain_(i, j) = direct_gain_(j, i) =
      static_cast<float>(direct(i, j, count + 2) - direct(i, j, count + 1));
  if (count > 0) {
    return;
  }
  ways_(i, j) = ways_(j, i) = ways_(i, j) | kDirect;
  if (!before) {
    flip(i, j, true);
  }
  for (const std::size_t k : peers_[j]) {
    count_path(i, k, 1);
  }
  for (const std::size_t k : peers_[i]) {
    count_path(j, k, 1);
  }
  peers_[i].push_back(j);
  peers_[j].push_back(i);
}

void CoverageSearch::remove(std::size_t i, std::size_t j) {
  const int count = circuits_(i, j);
  direct_ -= direct(i, j, count) - direct(i, j, count - 1);
  ++free_[i];
  ++free_[j];
  circuits_(i, j) = circuits_(j, i) = count - 1;
  direct_gain_(i, j) = direct_gain_(j, i) =
      static_cast<float>(direct(i, j, count) - direct(i, j, count - 1));
  if (count > 1) {
    return;
  }
  ways_(i, j) = ways_(j, i) = static_cast<uint16_t>(ways_(i, j) - kDirect);
  if (!reached(i, j)) {
    flip(i, j, false);
  }
  const auto forget = [](std::vector<std::size_t>& list, std::size_t peer) {
    const auto it = std::find(list.begin(), list.end(), peer);
    *it = list.back();
    list.pop_back();
  };
  forget(peers_[i], j);
  forget(peers_[j], i);
  for (const std::size_t k : peers_[j]) {
    count_path(i, k, -1);
  }
  for (const std::size_t k : peers_[i]) {
    count_path(j, k, -1);
  }
}

// What one more circuit of every pair is worth, and what one less costs, to first order.
void CoverageSearch::value_circuits() {
  // Summed over the peers of j: what circuits between i and j would newly reach beyond j.
  std::fill(beyond_.cells().begin(), beyond_.cells().end(), 0.0F);
  for (std::size_t j = 0; j < n_; ++j) {
    float* const sum = beyond_.row(j).data();
    for (const std::size_t k : peers_[j]) {
      const float* const unreached = unreached_.row(k).data();
      for (std::size_t i = 0; i < n_; ++i) {
        sum[i] += unreached[i];
      }
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = i + 1; j < n_; ++j) {
      float gain = direct_gain_(i, j);
      if (circuits_(i, j) == 0) {
        gain += unreached_(i, j) + beyond_(i, j) + beyond_(j, i);
      }
      gain_(i, j) = gain_(j, i) = gain;
    }
    for (const std::size_t j : peers_[i]) {
      if (i < j) {
        loss_(i, j) = loss_(j, i) = static_cast<float>(loss(i, j));
      }
    }
  }
}

double CoverageSearch::loss(std::size_t i, std::size_t j) const {
  const int count = circuits_(i, j);
  double sum = direct(i, j, count) - direct(i, j, count - 1);
  if (count > 1) {
    return sum;
  }
  sum += ways_(i, j) == kDirect ? worth_(i, j) : 0;
  for (const std::size_t k : peers_[j]) {
    sum += ways_(i, k) == 1 && k != i ? worth_(i, k) : 0;
  }
  for (const std::size_t k : peers_[i]) {
    sum += ways_(j, k) == 1 && k != j ? worth_(j, k) : 0;
  }
  return sum;
}

// Change of the penalty of the servers touched since the last settle().
double CoverageSearch::touched_penalty() {
  double change = 0;
  for (const std::size_t i : touched_) {
    change += penalty(out_[i], i) + penalty(in_[i], i) - penalty_[i];
  }
  return change;
}

void CoverageSearch::reweigh(std::size_t i) {
  for (std::size_t j = 0; j < n_; ++j) {
    const double worth = demand_(i, j) * (slope_out_[i] + slope_in_[j]) +
                         demand_(j, i) * (slope_out_[j] + slope_in_[i]);
    worth_(i, j) = worth_(j, i) = static_cast<float>(worth);
    unreached_(i, j) = unreached_(j, i) = ways_(i, j) == 0 && i != j ? worth_(i, j) : 0.0F;
  }
}

void CoverageSearch::settle() {
  for (const std::size_t i : touched_) {
    is_touched_[i] = 0;
    penalty_[i] = penalty(out_[i], i) + penalty(in_[i], i);
    slope_out_[i] = slope(out_[i], i);
    slope_in_[i] = slope(in_[i], i);
  }
  for (const std::size_t i : touched_) {
    reweigh(i);
  }
  touched_.clear();
  value_circuits();
  work_ += static_cast<int64_t>(n_ * n_) * 3;
}

// Makes i-j, k-l into i-k, j-l if the energy rises by less than `most`.
bool CoverageSearch::exchange(const Circuit& first, const Circuit& second, double most) {
  const auto [i, j] = first;
  const auto [k, l] = second;
  if (i == k || j == l || (i == l && j == k)) {
    return false;
  }
  work_ += kExactWork + static_cast<int64_t>(n_) * kExactWork / 16;
  const double direct_before = direct_;
  remove(i, j);
  remove(k, l);
  add(i, k);
  add(j, l);
  const double rise = touched_penalty() - (direct_ - direct_before);
  if (rise < most) {
    settle();
    return true;
  }
  remove(i, k);
  remove(j, l);
  add(i, j);
  add(k, l);
  direct_ = direct_before;
  for (const std::size_t server : touched_) {
    is_touched_[server] = 0;
  }
  touched_.clear();
  return false;
}

// The peers of each server that a circuit of its own would serve best.
void CoverageSearch::list_candidates() {
  const std::size_t count = std::min(n_ - 1, kCandidates);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n_; ++i) {
    order.clear();
    for (std::size_t j = 0; j < n_; ++j) {
      if (j != i) {
        order.push_back(j);
      }
    }
    const auto better = [&](std::size_t a, std::size_t b) {
      const double x = direct(i, a, 1);
      const double y = direct(i, b, 1);
      return x > y || (x == y && a < b);
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(), better);
    candidates_.insert(candidates_.end(), order.begin(),
                       order.begin() + static_cast<std::ptrdiff_t>(count));
  }
}

void CoverageSearch::anneal(int proposals, double temperature, RandomStream& random) {
  if (n_ < 3) {
    return;
  }
  if (candidates_.empty()) {
    list_candidates();
  }
  const std::size_t count = candidates_.size() / n_;
  const double scale = temperature * time_ * static_cast<double>(n_);
  const auto pick = [](uint64_t bits, std::size_t bound) {
    return static_cast<std::size_t>((bits & 0xffff) * bound >> 16);
  };
  work_ += proposals * kProposalWork;
  for (int round = 0; round < proposals; ++round) {
    const uint64_t draw = random.next();
    const std::size_t i = pick(draw, n_);
    const std::size_t k = (draw & (1ULL << 63)) != 0
                              ? candidates_[i * count + pick(draw >> 16, count)]
                              : pick(draw >> 16, n_);
    if (i == k || peers_[i].empty() || peers_[k].empty()) {
      continue;
    }
    const std::size_t j = peers_[i][pick(draw >> 32, peers_[i].size())];
    const std::size_t l = peers_[k][pick(draw >> 47, peers_[k].size())];
    const double heat = scale * (1 - static_cast<double>(round) / proposals);
    const double estimate = loss_(i, j) + loss_(k, l) - gain_(i, k) - gain_(j, l);
    if (j == k || l == i || estimate > 8 * heat + kMargin * time_) {
      continue;
    }
    // Metropolis' rule with the random number first: -log(u) is exponential.
    const double most = heat > 0 ? -heat * std::log(1 - random.uniform()) : 0;
    if (estimate > most + kMargin * time_) {
      continue;
    }
    exchange({i, j}, {k, l}, most - 1e-12 * time_);
  }
}

void CoverageSearch::join_free_ports() {
  for (;;) {
    Circuit best;
    double most = -1;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_ && free_[i] > 0; ++j) {
        const double g = free_[j] > 0 ? gain_(i, j) : -1;
        if (g > most) {
          most = g;
          best = {i, j};
        }
      }
    }
    if (most < 0) {
      return;
    }
    add(best.i, best.j);
    settle();
  }
}

// A server with two free ports goes between the ends of the circuit where that costs least.
void CoverageSearch::split_for(std::size_t server) {
  while (free_[server] >= 2) {
    Circuit best;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n_; ++i) {
      for (const std::size_t j : peers_[i]) {
        if (i < j && i != server && j != server) {
          const double g = gain_(server, i) + gain_(server, j) - loss_(i, j);
          if (g > most) {
            most = g;
            best = {i, j};
          }
        }
      }
    }
    if (best.i == best.j) {
      return;
    }
    remove(best.i, best.j);
    add(server, best.i);
    add(server, best.j);
    settle();
  }
}

void CoverageSearch::fill() {
  join_free_ports();
  for (std::size_t i = 0; i < n_; ++i) {
    split_for(i);
  }
}

}  // namespace mixnet::plan
