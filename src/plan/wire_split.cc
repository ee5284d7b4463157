#include "plan/wire_split.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>
#include <tuple>
#include <vector>

#include "plan/wire_greedy.h"
#include "plan/wire_moves.h"

namespace mixnet::plan {
namespace {

constexpr int kSearchRounds = 12;

// What the electrical NICs of a server cannot carry within T, per direction, and still lacks
// circuits. Covering it within T is what the greedy below tries.
class Cover {
 public:
  Cover(const WireProblem& problem, double time)
      : demand_(problem.demand),
        time_(time),
        circuits_(problem.demand.rows(), problem.demand.rows(), 0),
        lack_out_(problem.demand.rows()),
        lack_in_(problem.demand.rows()) {
    for (std::size_t i = 0; i < lack_out_.size(); ++i) {
      free_.push_back(problem.alpha.of(i));
      lack_out_[i] -= problem.eps.of(i) * time;
      lack_in_[i] -= problem.eps.of(i) * time;
      for (std::size_t j = 0; j < lack_out_.size(); ++j) {
        lack_out_[i] += demand_(i, j);
        lack_in_[j] += demand_(i, j);
      }
    }
  }

  // Grants circuits to the pair whose next one covers most, until none covers anything. What a
  // pair covers only shrinks, so an outdated entry of the queue is put back with its true value.
  void run() {
    std::priority_queue<Entry> queue;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      for (std::size_t j = i + 1; j < free_.size(); ++j) {
        push(queue, i, j);
      }
    }
    while (!queue.empty()) {
      const Entry top = queue.top();
      queue.pop();
      if (free_[top.i] == 0 || free_[top.j] == 0) {
        continue;
      }
      if (gain(top.i, top.j) < top.gain) {
        push(queue, top.i, top.j);
        continue;
      }
      grant(top.i, top.j);
      push(queue, top.i, top.j);
    }
  }

  const Matrix<int>& circuits() const { return circuits_; }

 private:
  struct Entry {
    double gain = 0;
    double demand = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    bool operator<(const Entry& o) const {
      return std::tie(gain, demand, o.i, o.j) < std::tie(o.gain, o.demand, i, j);
    }
  };

  // What one more circuit of the pair carries from i to j within T.
  double carried(std::size_t i, std::size_t j) const {
    return std::clamp(demand_(i, j) - circuits_(i, j) * time_, 0.0, time_);
  }

  double gain(std::size_t i, std::size_t j) const {
    const double there = carried(i, j);
    const double back = carried(j, i);
    const auto useful = [](double amount, double lack) {
      return std::min(amount, std::max(0.0, lack));
    };
    return useful(there, lack_out_[i]) + useful(there, lack_in_[j]) + useful(back, lack_out_[j]) +
           useful(back, lack_in_[i]);
  }

  void push(std::priority_queue<Entry>& queue, std::size_t i, std::size_t j) const {
    const double g = gain(i, j);
    if (g > 0) {
      queue.push(Entry{g, demand_(i, j) + demand_(j, i), i, j});
    }
  }

  void grant(std::size_t i, std::size_t j) {
    const double there = carried(i, j);
    const double back = carried(j, i);
    lack_out_[i] -= there;
    lack_in_[j] -= there;
    lack_out_[j] -= back;
    lack_in_[i] -= back;
    circuits_(i, j) += 1;
    circuits_(j, i) += 1;
    free_[i] -= 1;
    free_[j] -= 1;
  }

  const DemandMatrix& demand_;
  double time_;
  Matrix<int> circuits_;
  std::vector<int> free_;
  std::vector<double> lack_out_;
  std::vector<double> lack_in_;
};

struct BestSplit {
  Matrix<int> circuits;
  double time = std::numeric_limits<double>::infinity();

  void offer(const WireProblem& problem, const Matrix<int>& candidate) {
    const double candidate_time = split_time(problem, candidate);
    if (circuits.empty() || candidate_time < time) {
      circuits = candidate;
      time = candidate_time;
    }
  }
};

// Bisection over T between a bound and the best time so far. A cover for T may turn out faster or
// slower than T; each is judged by its own split time.
void search_covers(const WireProblem& problem, double low, BestSplit& best) {
  double high = best.time;
  if (high == std::numeric_limits<double>::infinity()) {
    high = low > 0 ? 2 * low : 0;
  }
  for (int round = 0; round < kSearchRounds && best.time > low; ++round) {
    const double middle = round == 0 ? low : low + (high - low) / 2;
    Cover cover(problem, middle);
    cover.run();
    const double before = best.time;
    best.offer(problem, cover.circuits());
    if (round == 0) {
      continue;  // the bound itself: if it cannot be met, it stays the lower end
    }
    (best.time < before || best.time <= middle ? high : low) = middle;
  }
}

}  // namespace

double water_fill_time(std::span<const double> demand, std::span<const int> circuits, int eps) {
  // From the left, Newton's steps on a convex decreasing function never overshoot its root, and
  // the set of pairs with a residual only shrinks.
  double time = 0;
  for (;;) {
    double residual = 0;
    double rate = eps;
    for (std::size_t j = 0; j < demand.size(); ++j) {
      if (demand[j] > circuits[j] * time) {
        residual += demand[j];
        rate += circuits[j];
      }
    }
    if (residual == 0) {
      return time;
    }
    if (rate == 0) {
      return std::numeric_limits<double>::infinity();
    }
    const double next = residual / rate;
    if (next <= time) {
      return time;
    }
    time = next;
  }
}

double split_time(const WireProblem& problem, const Matrix<int>& circuits) {
  const ServerTimes times(problem, circuits);
  return times.worst();
}

Matrix<int> split_circuits(const WireProblem& problem, double good_enough) {
  WireProblem local = problem;
  for (std::size_t i = 0; i < local.demand.rows(); ++i) {
    local.demand(i, i) = 0;
  }
  BestSplit best;
  best.offer(local, algorithm1_circuits(local.demand, local.alpha, WhenBlocked::kSkip));
  if (best.time > good_enough) {
    search_covers(local, good_enough, best);
  }
  ServerTimes times(local, best.circuits);
  times.improve(good_enough);
  return times.circuits();
}

}  // namespace mixnet::plan
