#include "plan/rewire.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "plan/never.h"
#include "plan/region_time.h"
#include "plan/wire_split.h"

namespace mixnet::plan {
namespace {

constexpr double kRewireProgress = 1 - 1e-9;

using EndPair = std::pair<std::size_t, std::size_t>;

std::vector<int> free_ports(const WireProblem& problem, const Matrix<int>& circuits) {
  std::vector<int> free;
  for (std::size_t i = 0; i < circuits.rows(); ++i) {
    free.push_back(problem.alpha.of(i));
    for (const int c : circuits.row(i)) {
      free[i] -= c;
    }
    CHECK(free[i] >= 0, "a server has more circuits than optical NICs");
  }
  return free;
}

// Circuits on the way from the laid ones, with the number that is dark on the way there.
class Walk {
 public:
  Walk(const WireProblem& problem, const Matrix<int>& laid)
      : laid_(laid), circuits_(laid), free_(free_ports(problem, laid)) {}

  const Matrix<int>& circuits() const { return circuits_; }
  int free(std::size_t i) const { return free_[i]; }
  int changed() const { return std::max(removed_, added_); }

  void add(std::size_t i, std::size_t j, int count) {
    count_pair(i, j, -1);
    circuits_(i, j) += count;
    circuits_(j, i) += count;
    free_[i] -= count;
    free_[j] -= count;
    count_pair(i, j, 1);
  }

 private:
  void count_pair(std::size_t i, std::size_t j, int sign) {
    const int more = circuits_(i, j) - laid_(i, j);
    added_ += sign * std::max(0, more);
    removed_ += sign * std::max(0, -more);
  }

  const Matrix<int>& laid_;
  Matrix<int> circuits_;
  std::vector<int> free_;
  int removed_ = 0;
  int added_ = 0;
};

// First walk: moves of the slowest server's circuit ends by reduction per circuit made dark.
class LocalMoves {
 public:
  LocalMoves(const WireProblem& problem, const Matrix<int>& laid)
      : n_(laid.rows()),
        eps_(problem.eps),
        sent_(problem.demand),
        received_(transposed(problem.demand)),
        walk_(problem, laid),
        time_(n_, 0.0) {
    for (std::size_t i = 0; i < n_; ++i) {
      sent_(i, i) = 0;
      received_(i, i) = 0;
    }
    for (std::size_t i = 0; i < n_; ++i) {
      time_[i] = time_of(i);
    }
  }

  const Matrix<int>& circuits() const { return walk_.circuits(); }

  // One move; false if none makes all servers that it touches faster than the slowest was.
  bool step() {
    if (n_ == 0) {
      return false;
    }
    const auto slow = static_cast<std::size_t>(
        std::distance(time_.begin(), std::max_element(time_.begin(), time_.end())));
    Judgement best;
    Move chosen;
    for (std::size_t x = 0; x < n_; ++x) {
      if (x == slow ? walk_.free(slow) == 0 : walk_.circuits()(slow, x) == 0) {
        continue;
      }
      for (std::size_t y = 0; y < n_; ++y) {
        if (y == slow || y == x || sent_(slow, y) + received_(slow, y) <= 0) {
          continue;
        }
        for (std::size_t z = 0; z < n_; ++z) {
          if (z == slow || (z == y ? walk_.free(y) == 0 : walk_.circuits()(y, z) == 0)) {
            continue;
          }
          const Move move{slow, x, y, z};
          if (judge(move, best)) {
            chosen = move;
          }
        }
      }
    }
    if (best.gain <= 0) {
      return false;
    }
    apply(chosen, 1);
    for (const std::size_t server : {slow, chosen.x, chosen.y, chosen.z}) {
      time_[server] = time_of(server);
    }
    return true;
  }

 private:
  // Circuits (slow, x) and (y, z) become (slow, y) and (x, z). x = slow and z = y stand for free
  // ports; nothing is removed there, and nothing added between x and z. Nor is it if x = z.
  struct Move {
    std::size_t slow = 0;
    std::size_t x = 0;
    std::size_t y = 0;
    std::size_t z = 0;
  };
  struct Judgement {
    double gain = 0;  // reduction per circuit made dark
    double sum = 0;   // times of the touched servers, to break ties
  };

  double time_of(std::size_t server) const {
    const auto circuits = walk_.circuits().row(server);
    return std::max(water_fill_time(sent_.row(server), circuits, eps_.of(server)),
                    water_fill_time(received_.row(server), circuits, eps_.of(server)));
  }

  void apply(const Move& m, int sign) {
    if (m.x != m.slow) {
      walk_.add(m.slow, m.x, -sign);
    }
    if (m.z != m.y) {
      walk_.add(m.y, m.z, -sign);
    }
    walk_.add(m.slow, m.y, sign);
    if (m.x != m.slow && m.z != m.y && m.x != m.z) {
      walk_.add(m.x, m.z, sign);
    }
  }

  bool judge(const Move& m, Judgement& best) {
    const double before = time_[m.slow];
    const double limit = before * kRewireProgress;
    const int dark_before = walk_.changed();
    apply(m, 1);
    const int dark = std::max(0, walk_.changed() - dark_before);
    double worst = 0;
    double sum = 0;
    const std::size_t touched[] = {m.slow, m.y, m.x, m.z};
    for (std::size_t k = 0; k < 4 && worst < limit; ++k) {
      if ((k == 2 && m.x == m.slow) || (k == 3 && (m.z == m.y || m.z == m.x))) {
        continue;
      }
      const double time = time_of(touched[k]);
      worst = std::max(worst, time);
      sum += time;
    }
    apply(m, -1);
    if (worst >= limit) {
      return false;
    }
    // A move back costs nothing more, but counts as a little, so that gains still compare. From a
    // server without any way every way is as good: the sum decides.
    const double gain =
        before == kNever ? 1 : (before - worst) / std::max(0.5, static_cast<double>(dark));
    if (std::tie(gain, best.sum) < std::tie(best.gain, sum) ||
        (gain == best.gain && sum == best.sum)) {
      return false;
    }
    best = Judgement{gain, sum};
    return true;
  }

  std::size_t n_;
  NicCounts eps_;
  DemandMatrix sent_;
  DemandMatrix received_;
  Walk walk_;
  std::vector<double> time_;
};

// Second walk: the circuits of the fresh wiring one by one.
class TowardsFresh {
 public:
  TowardsFresh(const WireProblem& problem, const Matrix<int>& laid, const Matrix<int>& fresh)
      : walk_(problem, laid), fresh_(fresh) {}

  const Matrix<int>& circuits() const { return walk_.circuits(); }
  int changed() const { return walk_.changed(); }

  // Circuits that are still to be added, one entry per circuit, by pair.
  std::vector<EndPair> missing() const {
    std::vector<EndPair> pairs;
    for (std::size_t i = 0; i < fresh_.rows(); ++i) {
      for (std::size_t j = i + 1; j < fresh_.rows(); ++j) {
        for (int c = circuits()(i, j); c < fresh_(i, j); ++c) {
          pairs.emplace_back(i, j);
        }
      }
    }
    return pairs;
  }

  // Adds one circuit of the pair; where a port is missing, a circuit that the fresh wiring does not
  // have gives way. There is one: the fresh wiring keeps the NIC counts.
  void add(const EndPair& pair) {
    free_port(pair.first);
    free_port(pair.second);
    walk_.add(pair.first, pair.second, 1);
  }

 private:
  // Of several circuits the one whose other end needs a port as well, to disturb few.
  void free_port(std::size_t i) {
    if (walk_.free(i) > 0) {
      return;
    }
    const std::size_t n = fresh_.rows();
    std::size_t victim = n;
    int most = -1;
    for (std::size_t j = 0; j < n; ++j) {
      if (circuits()(i, j) <= fresh_(i, j)) {
        continue;
      }
      const int needs = walk_.free(j) > 0 ? 0 : lacking(j);
      if (needs > most) {
        most = needs;
        victim = j;
      }
    }
    CHECK(victim < n, "a port of the fresh wiring is taken by a circuit that it has");
    walk_.add(i, victim, -1);
  }

  int lacking(std::size_t i) const {
    int sum = 0;
    for (std::size_t j = 0; j < fresh_.rows(); ++j) {
      sum += std::max(0, fresh_(i, j) - circuits()(i, j));
    }
    return sum;
  }

  Walk walk_;
  const Matrix<int>& fresh_;
};

class Frontier {
 public:
  Frontier(const WireProblem& problem, const Matrix<int>& laid, Allocator allocator)
      : problem_(problem), laid_(laid), region_{problem.alpha, problem.eps, allocator, 1} {
    offer(laid);
  }

  double offer(const Matrix<int>& circuits) {
    RewireOption option;
    option.circuits = circuits;
    option.changed = change_between(laid_, circuits).changed();
    option.completion = completion_over(region_, problem_.demand, circuits);
    options_.push_back(std::move(option));
    return options_.back().completion;
  }

  std::vector<RewireOption> sorted() {
    std::stable_sort(options_.begin(), options_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.changed, a.completion) < std::tie(b.changed, b.completion);
    });
    std::vector<RewireOption> kept;
    for (RewireOption& option : options_) {
      if (kept.empty() || option.completion < kept.back().completion * kRewireProgress ||
          (kept.back().completion == kNever && option.completion < kNever)) {
        const Matrix<int> stays = change_between(laid_, option.circuits).stays;
        option.dark_completion = completion_over(region_, problem_.demand, stays);
        kept.push_back(std::move(option));
      }
    }
    return kept;
  }

 private:
  const WireProblem& problem_;
  const Matrix<int>& laid_;
  Region region_;
  std::vector<RewireOption> options_;
};

void walk_towards_fresh(const WireProblem& problem, const Matrix<int>& laid,
                        const Matrix<int>& fresh, const Region& region, Frontier& frontier) {
  struct Ranked {
    double completion = 0;  // after this circuit alone
    int dark = 0;
    EndPair pair;
  };
  const double before = completion_over(region, problem.demand, laid);
  std::vector<Ranked> ranked;
  for (const EndPair& pair : TowardsFresh(problem, laid, fresh).missing()) {
    TowardsFresh alone(problem, laid, fresh);
    alone.add(pair);
    ranked.push_back(
        Ranked{completion_over(region, problem.demand, alone.circuits()), alone.changed(), pair});
  }
  const auto gain = [&](const Ranked& r) {
    return before == kNever ? (r.completion < kNever ? 1.0 : 0.0)
                            : (before - r.completion) / std::max(1, r.dark);
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const Ranked& a, const Ranked& b) { return gain(a) > gain(b); });
  TowardsFresh walk(problem, laid, fresh);
  for (const Ranked& r : ranked) {
    walk.add(r.pair);
    frontier.offer(walk.circuits());
  }
}

void move_circuit(Matrix<int>& circuits, std::size_t i, std::size_t j, int count) {
  circuits(i, j) += count;
  circuits(j, i) += count;
}

// Every way to exchange (a, b) and (c, d) for (a, c) and (b, d), in a fixed order.
std::vector<std::array<std::size_t, 4>> exchanges(const Matrix<int>& circuits) {
  const std::size_t n = circuits.rows();
  std::vector<std::array<std::size_t, 4>> list;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      for (std::size_t c = a + 1; c < n && circuits(a, b) > 0; ++c) {
        for (std::size_t d = 0; d < n; ++d) {
          if (circuits(c, d) > 0 && b != c && b != d && d != a) {
            list.push_back({a, b, c, d});
          }
        }
      }
    }
  }
  return list;
}

}  // namespace

std::vector<RewireOption> rewire_frontier(const WireProblem& problem, const Matrix<int>& laid,
                                          const Matrix<int>& fresh, Allocator allocator) {
  CHECK(laid.rows() == problem.demand.rows() && fresh.rows() == laid.rows(),
        "circuits for the servers of the demand");
  free_ports(problem, fresh);  // holds the fresh wiring against the NIC counts
  const Region region{problem.alpha, problem.eps, allocator, 1};
  Frontier frontier(problem, laid, allocator);
  const double goal = frontier.offer(fresh);
  LocalMoves moves(problem, laid);
  // Every step changes at least one circuit end; more steps than circuits are not a partial change.
  const int most = std::max(1, problem.alpha.total(laid.rows()));
  for (int step = 0; step < most && moves.step(); ++step) {
    if (frontier.offer(moves.circuits()) <= goal) {
      break;
    }
  }
  walk_towards_fresh(problem, laid, fresh, region, frontier);
  return frontier.sorted();
}

std::size_t best_rewire(std::span<const RewireOption> frontier, std::span<const double> cost,
                        double horizon) {
  CHECK(!frontier.empty() && cost.size() == frontier.size(), "one cost per option");
  std::size_t best = 0;
  double least = kNever;
  for (std::size_t k = 0; k < frontier.size(); ++k) {
    const double total = horizon * frontier[k].completion + cost[k];
    if (total < least) {
      least = total;
      best = k;
    }
  }
  return best;
}

Matrix<int> swap_circuits(const Region& region, std::span<const DemandMatrix> matrices,
                          Matrix<int> circuits, int64_t most) {
  double best = summed_completion(region, matrices, circuits);
  const auto each = static_cast<int64_t>(matrices.size());
  int64_t left = most / std::max<int64_t>(1, each);
  for (bool better = true; better && left > 0;) {
    better = false;
    for (const auto& [a, b, c, d] : exchanges(circuits)) {
      // The list is of the circuits at the start of the round.
      if (left-- <= 0) {
        break;
      }
      if (circuits(a, b) == 0 || circuits(c, d) == 0) {
        continue;
      }
      move_circuit(circuits, a, b, -1);
      move_circuit(circuits, c, d, -1);
      move_circuit(circuits, a, c, 1);
      move_circuit(circuits, b, d, 1);
      const double time = summed_completion(region, matrices, circuits);
      if (time < best * kRewireProgress) {
        best = time;
        better = true;
        continue;
      }
      move_circuit(circuits, a, c, -1);
      move_circuit(circuits, b, d, -1);
      move_circuit(circuits, a, b, 1);
      move_circuit(circuits, c, d, 1);
    }
  }
  return circuits;
}

}  // namespace mixnet::plan
