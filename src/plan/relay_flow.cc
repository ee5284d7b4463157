#include "plan/relay_flow.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.h"
#include "plan/never.h"

namespace mixnet::plan {
namespace {

// A gap between two prices below this share is not worth a move.
constexpr double kPriceGap = 0.01;
// Stands for no electrical NIC at all: too little to be used, enough to compute with.
constexpr double kRelayWithoutNic = 1e-6;

// e^x to 1e-6, clamped to +-60: the descent computes little else.
double quick_exp(double x) {
  const double t = std::clamp(x, -60.0, 60.0) * 1.4426950408889634;
  const double whole = std::floor(t);
  const double f = t - whole;
  const double fraction =
      1.0 +
      f * (0.69314697 + f * (0.24022651 + f * (0.05550347 + f * (0.00961846 + f * 0.00150440))));
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(whole) + 1023);
  return fraction * std::bit_cast<double>(exponent << 52);
}

}  // namespace

RelayFlow::RelayFlow(const DemandMatrix& demand, const NicCounts& eps, const Matrix<int>& circuits,
                     int most_peers)
    : n_(demand.rows()),
      slots_(most_peers),
      demand_(demand),
      circuits_(n_, n_, 0),
      peer_(n_ * static_cast<std::size_t>(slots_), -1),
      slot_of_(n_, n_, static_cast<int16_t>(-1)),
      others_(n_, n_, 0),
      amount_((peer_.size() + n_) * n_, 0.0),
      load_(peer_.size() + 2 * n_, 0.0),
      inverse_(load_.size(), 0.0),
      weight_(load_.size(), 0.0),
      price_(load_.size(), 0.0),
      is_affected_(n_ * n_, 0) {
  CHECK(most_peers >= 0 && n_ < 32768, "servers and peers fit 16 bits");
  for (std::size_t i = 0; i < n_; ++i) {
    const double capacity = eps.of(i) > 0 ? eps.of(i) : kRelayWithoutNic;
    inverse_[peer_.size() + i] = 1 / capacity;
    inverse_[peer_.size() + n_ + i] = 1 / capacity;
  }
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = i + 1; j < n_; ++j) {
      if (circuits(i, j) > 0) {
        change(i, j, circuits(i, j));
      }
    }
  }
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < n_; ++j) {
      spread(i, j);
    }
  }
}

RelayFlow::Option RelayFlow::electrical(std::size_t i, std::size_t j) const {
  return {peer_.size() * n_ + i * n_ + j, static_cast<int>(peer_.size() + i),
          static_cast<int>(peer_.size() + n_ + j)};
}

bool RelayFlow::nowhere(std::size_t i, std::size_t j) const {
  const Option option = electrical(i, j);
  return others_(i, j) > 0 &&
         std::max(inverse_[static_cast<std::size_t>(option.first)],
                  inverse_[static_cast<std::size_t>(option.second)]) >= 1 / kRelayWithoutNic;
}

bool RelayFlow::over_slot(std::size_t i, std::size_t j, int slot, Option& option) const {
  const std::size_t index = slot_index(i, slot);
  const int via = peer_[index];
  if (via < 0) {
    return false;
  }
  option.amount = index * n_ + j;
  option.first = static_cast<int>(index);
  option.second = -1;
  if (static_cast<std::size_t>(via) == j) {
    return true;
  }
  const int second = slot_of_(static_cast<std::size_t>(via), j);
  if (second < 0) {
    return false;
  }
  option.second = static_cast<int>(slot_index(static_cast<std::size_t>(via), second));
  return true;
}

template <typename Visit>
void RelayFlow::for_options(std::size_t i, std::size_t j, const Visit& visit) const {
  if (!nowhere(i, j)) {
    visit(electrical(i, j));
  }
  Option option;
  for (int s = 0; s < slots_; ++s) {
    if (over_slot(i, j, s, option)) {
      visit(option);
    }
  }
}

void RelayFlow::spread(std::size_t i, std::size_t j) {
  const double demand = demand_(i, j);
  if (demand <= 0 || i == j) {
    return;
  }
  const int others = others_(i, j);
  const double electrically = others == 0 ? 1 : nowhere(i, j) ? 0 : 0.25;
  put(electrical(i, j), demand * electrically);
  Option option;
  for (int s = 0; s < slots_; ++s) {
    if (over_slot(i, j, s, option)) {
      put(option, demand * (1 - electrically) / others);
    }
  }
}

double RelayFlow::price(const Option& option) const {
  const double one = price_[static_cast<std::size_t>(option.first)];
  return option.second < 0 ? one : one + price_[static_cast<std::size_t>(option.second)];
}

void RelayFlow::reprice(std::size_t r) {
  weight_[r] = quick_exp((load_[r] * inverse_[r] - reference_) / tau_);
  price_[r] = weight_[r] * inverse_[r];
}

void RelayFlow::add_load(int resource, double amount) {
  const auto r = static_cast<std::size_t>(resource);
  if (trial_) {
    old_loads_.push_back({resource, load_[r], weight_[r]});
  }
  load_[r] += amount;
  reprice(r);
}

void RelayFlow::put(const Option& option, double amount) {
  if (trial_) {
    old_amounts_.push_back({option.amount, amount_[option.amount]});
  }
  amount_[option.amount] += amount;
  add_load(option.first, amount);
  if (option.second >= 0) {
    add_load(option.second, amount);
  }
}

double RelayFlow::steepest(const Option& option) const {
  const double one = inverse_[static_cast<std::size_t>(option.first)];
  return option.second < 0 ? one : std::max(one, inverse_[static_cast<std::size_t>(option.second)]);
}

bool RelayFlow::move(std::size_t i, std::size_t j) {
  Option cheap;
  Option dear;
  double low = kNever;
  double high = -1;
  for_options(i, j, [&](const Option& option) {
    const double p = price(option);
    if (p < low) {
      low = p;
      cheap = option;
    }
    if (p > high && amount_[option.amount] > 0) {
      high = p;
      dear = option;
    }
  });
  const Option stranded = electrical(i, j);
  if (nowhere(i, j) && amount_[stranded.amount] > 0) {
    // Left there by circuits that went, or that came later.
    const double amount = amount_[stranded.amount];
    put(stranded, -amount);
    put(cheap, amount);
    return true;
  }
  if (high - low <= kPriceGap * high) {
    return false;
  }
  // log(price) of an option changes by at most its largest 1 / capacity per tau, so this far the
  // two prices do not cross.
  const double step = std::min(tau_ * std::log(high / low) / (steepest(dear) + steepest(cheap)),
                               amount_[dear.amount]);
  put(dear, -step);
  put(cheap, step);
  return true;
}

double RelayFlow::completion() const {
  double worst = 0;
  for (std::size_t r = 0; r < load_.size(); ++r) {
    worst = std::max(worst, load_[r] * inverse_[r]);
  }
  return worst;
}

double RelayFlow::dual_bound() const {
  double capacity = 0;  // price times capacity
  for (const double weight : weight_) {
    capacity += weight;
  }
  double cost = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < n_; ++j) {
      cost += demand_(i, j) > 0 ? demand_(i, j) * cheapest(i, j) : 0;
    }
  }
  return cost > 0 ? cost / capacity : 0;
}

double RelayFlow::potential() const {
  double sum = 0;
  for (const double weight : weight_) {
    sum += weight;
  }
  return reference_ + tau_ * std::log(sum);
}

void RelayFlow::descend(double tau, int sweeps) {
  tau_ = tau;
  reference_ = completion();
  for (std::size_t r = 0; r < load_.size(); ++r) {
    reprice(r);
  }
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    int64_t moved = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        if (others_(i, j) > 0 && demand_(i, j) > 0) {
          moved += move(i, j) ? 1 : 0;
        }
      }
    }
    work_ += static_cast<int64_t>(n_ * n_);
    if (moved == 0) {
      return;
    }
  }
}

void RelayFlow::settle(int sweeps) {
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool moved = false;
    for (const std::size_t pair : affected_) {
      moved = move(pair / n_, pair % n_) || moved;
    }
    work_ += static_cast<int64_t>(affected_.size());
    if (!moved) {
      return;
    }
  }
}

void RelayFlow::affect(std::size_t i, std::size_t j) {
  if (i != j && demand_(i, j) > 0 && is_affected_[i * n_ + j] == 0) {
    is_affected_[i * n_ + j] = 1;
    affected_.push_back(i * n_ + j);
  }
}

// Every pair with an option over the circuits i - j.
void RelayFlow::affect_around(std::size_t i, std::size_t j) {
  affect(i, j);
  affect(j, i);
  for_peers(j, [&](std::size_t k) {
    affect(i, k);
    affect(k, i);
  });
  for_peers(i, [&](std::size_t k) {
    affect(k, j);
    affect(j, k);
  });
}

// One way more or less for every pair that circuits between i and j give an option.
void RelayFlow::count_ways(std::size_t i, std::size_t j, int change) {
  const auto count = [&](std::size_t a, std::size_t b) {
    others_(a, b) = static_cast<int16_t>(others_(a, b) + change);
    others_(b, a) = static_cast<int16_t>(others_(b, a) + change);
  };
  count(i, j);
  for_peers(j, [&](std::size_t k) {
    if (k != i) {
      count(i, k);
    }
  });
  for_peers(i, [&](std::size_t k) {
    if (k != j) {
      count(j, k);
    }
  });
}

void RelayFlow::set_count(std::size_t i, std::size_t j, int slot, int count) {
  const auto r = slot_index(i, slot);
  circuits_(i, j) = count;
  inverse_[r] = 1.0 / count;
  if (trial_) {
    old_loads_.push_back({static_cast<int>(r), load_[r], weight_[r]});
  }
  reprice(r);
}

void RelayFlow::occupy(std::size_t i, std::size_t j, int slot) {
  peer_[slot_index(i, slot)] = static_cast<int>(j);
  slot_of_(i, j) = static_cast<int16_t>(slot);
}

// The amount of i -> via -> j goes to the electrical NICs.
void RelayFlow::evacuate(std::size_t i, std::size_t via, std::size_t j) {
  Option option;
  if (i != j && over_slot(i, j, slot_of_(i, via), option) && amount_[option.amount] > 0) {
    const double amount = amount_[option.amount];
    put(option, -amount);
    put(electrical(i, j), amount);
  }
}

void RelayFlow::vacate(std::size_t i, std::size_t j) {
  evacuate(i, j, j);
  for_peers(j, [&](std::size_t k) { evacuate(i, j, k); });
  for_peers(i, [&](std::size_t k) {
    if (k != j) {
      evacuate(k, i, j);
    }
  });
}

void RelayFlow::change(std::size_t i, std::size_t j, int count) {
  CHECK(i != j && circuits_(i, j) + count >= 0, "a change leaves valid circuits");
  const int before = circuits_(i, j);
  const int after = before + count;
  if (before == 0) {
    const auto free_slot = [&](std::size_t server) {
      const auto* first = &peer_[slot_index(server, 0)];
      return static_cast<int>(std::find(first, first + slots_, -1) - first);
    };
    const int slot_i = free_slot(i);
    const int slot_j = free_slot(j);
    CHECK(slot_i < slots_ && slot_j < slots_, "a server has too many peers");
    occupy(i, j, slot_i);
    occupy(j, i, slot_j);
    count_ways(i, j, 1);
  }
  const int slot_i = slot_of_(i, j);
  const int slot_j = slot_of_(j, i);
  if (trial_) {
    old_circuits_.push_back({i, j, slot_i, slot_j, before});
    affect_around(i, j);
  }
  if (after > 0) {
    set_count(i, j, slot_i, after);
    set_count(j, i, slot_j, after);
    return;
  }
  vacate(i, j);
  vacate(j, i);
  set_count(i, j, slot_i, 1);
  set_count(j, i, slot_j, 1);
  circuits_(i, j) = circuits_(j, i) = 0;
  for (const auto& [server, slot] : {std::pair(i, slot_i), std::pair(j, slot_j)}) {
    const auto r = slot_index(server, slot);
    peer_[r] = -1;
    load_[r] = 0;  // rounding
  }
  slot_of_(i, j) = slot_of_(j, i) = static_cast<int16_t>(-1);
  count_ways(i, j, -1);
}

void RelayFlow::begin_trial() { trial_ = true; }

void RelayFlow::keep_trial() {
  trial_ = false;
  old_amounts_.clear();
  old_loads_.clear();
  old_circuits_.clear();
  for (const std::size_t pair : affected_) {
    is_affected_[pair] = 0;
  }
  affected_.clear();
}

void RelayFlow::undo_trial() {
  for (auto it = old_circuits_.rbegin(); it != old_circuits_.rend(); ++it) {
    const std::size_t ri = slot_index(it->i, it->slot_i);
    const std::size_t rj = slot_index(it->j, it->slot_j);
    const bool there = it->count > 0;
    if (there != (circuits_(it->i, it->j) > 0)) {
      count_ways(it->i, it->j, there ? 1 : -1);
    }
    circuits_(it->i, it->j) = circuits_(it->j, it->i) = it->count;
    peer_[ri] = there ? static_cast<int>(it->j) : -1;
    peer_[rj] = there ? static_cast<int>(it->i) : -1;
    slot_of_(it->i, it->j) = static_cast<int16_t>(there ? it->slot_i : -1);
    slot_of_(it->j, it->i) = static_cast<int16_t>(there ? it->slot_j : -1);
    inverse_[ri] = inverse_[rj] = there ? 1.0 / it->count : 1.0;
  }
  for (auto it = old_amounts_.rbegin(); it != old_amounts_.rend(); ++it) {
    amount_[it->index] = it->value;
  }
  for (auto it = old_loads_.rbegin(); it != old_loads_.rend(); ++it) {
    const auto r = static_cast<std::size_t>(it->resource);
    load_[r] = it->load;
    weight_[r] = it->weight;
    price_[r] = it->weight * inverse_[r];
  }
  keep_trial();
}

double RelayFlow::cheapest(std::size_t i, std::size_t j) const {
  double low = kNever;
  for_options(i, j, [&](const Option& option) { low = std::min(low, price(option)); });
  return low;
}

double RelayFlow::circuit_price(std::size_t i, std::size_t j) const {
  const int slot = slot_of_(i, j);
  if (slot < 0) {
    return 0;
  }
  return price_[slot_index(i, slot)];
}

// What the option of pair (i, j) that uses `resource` would cost more on the next best one.
double RelayFlow::extra(std::size_t i, std::size_t j, int resource) const {
  double other = kNever;
  double mine = 0;
  double amount = 0;
  for_options(i, j, [&](const Option& option) {
    if (option.first == resource || option.second == resource) {
      mine = price(option);
      amount = amount_[option.amount];
    } else {
      other = std::min(other, price(option));
    }
  });
  return amount * std::max(0.0, other - mine);
}

double RelayFlow::loss_without(std::size_t i, std::size_t j) const {
  double sum = 0;
  for (const auto& [a, b] : {std::pair(i, j), std::pair(j, i)}) {
    const auto resource = static_cast<int>(slot_index(a, slot_of_(a, b)));
    sum += extra(a, b, resource);
    for_peers(b, [&, from = a](std::size_t k) { sum += k == from ? 0 : extra(from, k, resource); });
    for_peers(a, [&, to = b](std::size_t k) { sum += k == to ? 0 : extra(k, to, resource); });
  }
  return sum;
}

Wiring RelayFlow::wiring() const {
  Wiring wiring;
  wiring.circuits = circuits_;
  wiring.circuit = Matrix<double>(n_, n_, 0.0);
  wiring.eps = Matrix<double>(n_, n_, 0.0);
  Option option;
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < n_; ++j) {
      wiring.eps(i, j) = amount_[electrical(i, j).amount];
      for (int s = 0; s < slots_; ++s) {
        if (!over_slot(i, j, s, option) || amount_[option.amount] <= 0) {
          continue;
        }
        if (option.second < 0) {
          wiring.circuit(i, j) = amount_[option.amount];
        } else {
          wiring.relay.push_back(RelayShare{static_cast<int>(i), peer_[slot_index(i, s)],
                                            static_cast<int>(j), amount_[option.amount]});
        }
      }
    }
  }
  return wiring;
}

}  // namespace mixnet::plan
