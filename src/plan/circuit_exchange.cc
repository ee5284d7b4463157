#include "plan/circuit_exchange.h"

#include <algorithm>
#include <utility>

namespace mixnet::plan {
namespace {

// Falls of the potential below this are rounding, not progress.
constexpr double kProgress = 1e-6;
constexpr int kSettleSweeps = 3;
// After one sweep, this much above the start is not made up by the next ones.
constexpr double kHopeless = 0.1;

// What fills a new circuit: the traffic that saves most first.
class Knapsack {
 public:
  void offer(double saving, double amount) {
    if (saving > 0 && amount > 0) {
      items_.push_back({saving, amount});
      total_ += amount;
      sum_ += saving * amount;
    }
  }

  // Savings of what fits into `room`; empties the knapsack.
  double fill(double room) {
    double sum = sum_;
    if (total_ > room) {
      std::sort(items_.begin(), items_.end(),
                [](const Item& a, const Item& b) { return a.saving < b.saving; });
      double excess = total_ - room;
      for (const Item& item : items_) {
        const double left_out = std::min(excess, item.amount);
        sum -= left_out * item.saving;
        excess -= left_out;
        if (excess <= 0) {
          break;
        }
      }
    }
    items_.clear();
    total_ = sum_ = 0;
    return sum;
  }

 private:
  struct Item {
    double saving = 0;
    double amount = 0;
  };
  std::vector<Item> items_;
  double total_ = 0;
  double sum_ = 0;
};

}  // namespace

CircuitExchange::CircuitExchange(RelayFlow& flow, std::vector<int> alpha)
    : flow_(flow),
      free_(std::move(alpha)),
      cheapest_(flow.servers(), flow.servers(), 0.0),
      value_(flow.servers(), flow.servers(), 0.0),
      loss_(flow.servers(), flow.servers(), 0.0) {
  for (std::size_t i = 0; i < flow.servers(); ++i) {
    for (const int count : flow.circuits().row(i)) {
      free_[i] -= count;
    }
  }
}

void CircuitExchange::value_circuits() {
  const std::size_t n = flow_.servers();
  const double room = flow_.completion();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      cheapest_(i, j) = i == j ? 0 : flow_.cheapest(i, j);
    }
  }
  circuits_.clear();
  Knapsack knapsack;
  const DemandMatrix& demand = flow_.demand();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double price = flow_.circuit_price(i, j) + flow_.circuit_price(j, i);
      const int count = flow_.circuits()(i, j);
      if (count > 0) {
        circuits_.push_back({static_cast<int>(i), static_cast<int>(j)});
        const double own = room * price;
        value_(i, j) = value_(j, i) = own;
        loss_(i, j) = loss_(j, i) = count > 1 ? own : std::max(own, flow_.loss_without(i, j));
        continue;
      }
      double sum = 0;
      for (const auto& [a, b] : {std::pair(i, j), std::pair(j, i)}) {
        knapsack.offer(cheapest_(a, b), demand(a, b));
        flow_.for_peers(b, [&, a = a, b = b](std::size_t k) {
          knapsack.offer(cheapest_(a, k) - flow_.circuit_price(b, k), demand(a, k));
        });
        flow_.for_peers(a, [&, a = a, b = b](std::size_t k) {
          knapsack.offer(cheapest_(k, b) - flow_.circuit_price(k, a), demand(k, b));
        });
        sum += knapsack.fill(room);
      }
      value_(i, j) = value_(j, i) = sum;
    }
  }
}

void CircuitExchange::offer(const Exchange& e, std::size_t most) {
  const auto worse = [](const Exchange& a, const Exchange& b) { return a.saving > b.saving; };
  if (e.saving <= 0 || (best_.size() >= most && e.saving <= best_.front().saving) ||
      failed_.count({e.i, e.j, e.k, e.l}) > 0) {
    return;
  }
  best_.push_back(e);
  std::push_heap(best_.begin(), best_.end(), worse);
  if (best_.size() > most) {
    std::pop_heap(best_.begin(), best_.end(), worse);
    best_.pop_back();
  }
}

void CircuitExchange::collect(std::size_t most) {
  best_.clear();
  const auto at = [](int server) { return static_cast<std::size_t>(server); };
  for (std::size_t x = 0; x < circuits_.size(); ++x) {
    const auto [i, j] = circuits_[x];
    const double first = loss_(at(i), at(j));
    for (std::size_t y = x + 1; y < circuits_.size(); ++y) {
      const auto [k, l] = circuits_[y];
      if (i == k || i == l || j == k || j == l) {
        continue;
      }
      const double loss = first + loss_(at(k), at(l));
      const double straight = value_(at(i), at(k)) + value_(at(j), at(l)) - loss;
      const double crossed = value_(at(i), at(l)) + value_(at(j), at(k)) - loss;
      if (straight > 0) {
        offer({straight, i, j, k, l}, most);
      }
      if (crossed > 0) {
        offer({crossed, i, j, l, k}, most);
      }
    }
  }
  collect_free_ports(most);
  std::sort(best_.begin(), best_.end(),
            [](const Exchange& a, const Exchange& b) { return a.saving > b.saving; });
}

void CircuitExchange::collect_free_ports(std::size_t most) {
  const auto n = static_cast<int>(flow_.servers());
  const auto at = [](int server) { return static_cast<std::size_t>(server); };
  for (int i = 0; i < n; ++i) {
    if (free_[at(i)] == 0) {
      continue;
    }
    for (int k = i + 1; k < n; ++k) {
      if (free_[at(k)] > 0) {
        offer({value_(at(i), at(k)), i, kNone, k, kNone}, most);
      }
    }
    for (const auto& [k, l] : circuits_) {
      if (k == i || l == i) {
        continue;
      }
      const double loss = loss_(at(k), at(l));
      if (free_[at(i)] > 1) {
        offer({value_(at(i), at(k)) + value_(at(i), at(l)) - loss, i, i, k, l}, most);
      }
      offer({value_(at(i), at(k)) - loss, i, kNone, k, l}, most);
      offer({value_(at(i), at(l)) - loss, i, kNone, l, k}, most);
    }
  }
}

void CircuitExchange::apply(const Exchange& e) {
  const auto change = [&](int a, int b, int count) {
    if (a != b && a != kNone && b != kNone) {
      flow_.change(static_cast<std::size_t>(a), static_cast<std::size_t>(b), count);
    }
  };
  change(e.i, e.j, -1);
  change(e.k, e.l, -1);
  change(e.i, e.k, 1);
  change(e.j, e.l, 1);
}

bool CircuitExchange::attempt(const Exchange& e) {
  const double before = flow_.potential();
  flow_.begin_trial();
  apply(e);
  flow_.settle(1);
  if (flow_.potential() < before + kHopeless) {
    flow_.settle(kSettleSweeps - 1);
  }
  if (flow_.potential() > before - kProgress) {
    flow_.undo_trial();
    failed_.insert({e.i, e.j, e.k, e.l});
    return false;
  }
  flow_.keep_trial();
  const auto take = [&](int server, int ports) {
    if (server != kNone) {
      free_[static_cast<std::size_t>(server)] -= ports;
    }
  };
  if (e.j == kNone || e.j == e.i) {
    take(e.i, e.j == e.i ? 2 : 1);
    take(e.k, e.l == kNone ? 1 : 0);
    take(e.l, e.j == kNone ? -1 : 0);
  }
  return true;
}

int CircuitExchange::round(int most) {
  value_circuits();
  collect(static_cast<std::size_t>(most));
  std::vector<char> changed(flow_.servers(), 0);
  const auto is_changed = [&](int server) {
    return server != kNone && changed[static_cast<std::size_t>(server)] != 0;
  };
  int kept = 0;
  // Where circuits have just changed, the savings are out of date.
  for (const Exchange& e : best_) {
    if (is_changed(e.i) || is_changed(e.j) || is_changed(e.k) || is_changed(e.l)) {
      continue;
    }
    if (!attempt(e)) {
      continue;
    }
    ++kept;
    for (const int server : {e.i, e.j, e.k, e.l}) {
      if (server != kNone) {
        changed[static_cast<std::size_t>(server)] = 1;
      }
    }
  }
  return kept;
}

}  // namespace mixnet::plan
