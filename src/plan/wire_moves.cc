#include "plan/wire_moves.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "plan/wire_split.h"

namespace mixnet::plan {
namespace {

// Gains below this are rounding, not progress.
constexpr double kMoveProgress = 1 - 1e-9;

}  // namespace

ServerTimes::ServerTimes(const WireProblem& problem, Matrix<int> circuits)
    : n_(problem.demand.rows()),
      eps_(problem.eps),
      sent_(problem.demand),
      received_(transposed(problem.demand)),
      circuits_(std::move(circuits)),
      time_(n_, 0.0) {
  for (std::size_t i = 0; i < n_; ++i) {
    sent_(i, i) = 0;
    received_(i, i) = 0;
    free_.push_back(problem.alpha.of(i));
    for (const int c : circuits_.row(i)) {
      free_[i] -= c;
    }
    CHECK(free_[i] >= 0, "a server has more circuits than optical NICs");
  }
  for (std::size_t i = 0; i < n_; ++i) {
    time_[i] = time_of(i);
  }
}

double ServerTimes::worst() const {
  return time_.empty() ? 0 : *std::max_element(time_.begin(), time_.end());
}

double ServerTimes::time_of(std::size_t server) const {
  return std::max(water_fill_time(sent_.row(server), circuits_.row(server), eps_.of(server)),
                  water_fill_time(received_.row(server), circuits_.row(server), eps_.of(server)));
}

void ServerTimes::add(std::size_t i, std::size_t j, int count) {
  circuits_(i, j) += count;
  circuits_(j, i) += count;
  free_[i] -= count;
  free_[j] -= count;
}

// A further circuit never slows anything down. The pair with the most left per circuit first.
void ServerTimes::fill_free_ports() {
  for (;;) {
    const double now = worst();
    std::size_t best_i = n_;
    std::size_t best_j = n_;
    double most = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_ && free_[i] > 0; ++j) {
        if (free_[j] == 0) {
          continue;
        }
        const double heavier = std::max(sent_(i, j), sent_(j, i));
        const double left = now == std::numeric_limits<double>::infinity()
                                ? heavier / (circuits_(i, j) + 1)
                                : heavier - circuits_(i, j) * now;
        if (left > most) {
          most = left;
          best_i = i;
          best_j = j;
        }
      }
    }
    if (best_i == n_) {
      return;
    }
    add(best_i, best_j, 1);
    time_[best_i] = time_of(best_i);
    time_[best_j] = time_of(best_j);
  }
}

void ServerTimes::apply(std::size_t slow, const Move& move, int sign) {
  if (move.x != slow) {
    add(slow, move.x, -sign);
  }
  if (move.z != move.y) {
    add(move.y, move.z, -sign);
  }
  add(slow, move.y, sign);
  if (move.x != slow && move.z != move.y && move.x != move.z) {
    add(move.x, move.z, sign);
  }
}

bool ServerTimes::judge(std::size_t slow, const Move& move, Judgement& best) {
  apply(slow, move, 1);
  Judgement verdict;
  bool better = true;
  const std::size_t touched[] = {slow, move.y, move.x, move.z};
  for (std::size_t k = 0; k < 4 && better; ++k) {
    if ((k == 2 && move.x == slow) || (k == 3 && (move.z == move.y || move.z == move.x))) {
      continue;  // that server was counted already
    }
    const double time = time_of(touched[k]);
    verdict.worst = std::max(verdict.worst, time);
    verdict.sum += time;
    better = verdict.worst <= best.worst;
  }
  apply(slow, move, -1);
  better = better && std::tie(verdict.worst, verdict.sum) < std::tie(best.worst, best.sum);
  if (better) {
    best = verdict;
  }
  return better;
}

bool ServerTimes::step() {
  const auto slow = static_cast<std::size_t>(
      std::distance(time_.begin(), std::max_element(time_.begin(), time_.end())));
  const double limit = time_[slow] * kMoveProgress;
  Judgement best{limit, std::numeric_limits<double>::infinity()};
  Move chosen;
  bool found = false;
  for (std::size_t x = 0; x < n_; ++x) {
    if (x == slow ? free_[slow] == 0 : circuits_(slow, x) == 0) {
      continue;
    }
    for (std::size_t y = 0; y < n_; ++y) {
      if (y == slow || y == x || sent_(slow, y) + received_(slow, y) <= 0) {
        continue;
      }
      for (std::size_t z = 0; z < n_; ++z) {
        if (z == slow || (z == y ? free_[y] == 0 : circuits_(y, z) == 0)) {
          continue;
        }
        const Move move{x, y, z};
        if (judge(slow, move, best)) {
          chosen = move;
          found = true;
        }
      }
    }
  }
  if (!found) {
    return false;
  }
  apply(slow, chosen, 1);
  for (const std::size_t server : {slow, chosen.x, chosen.y, chosen.z}) {
    time_[server] = time_of(server);
  }
  return true;
}

void ServerTimes::improve(double good_enough) {
  fill_free_ports();
  while (worst() > good_enough && step()) {
    fill_free_ports();
  }
}

}  // namespace mixnet::plan
