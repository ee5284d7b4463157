#include "plan/place_greedy.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "plan/never.h"
#include "plan/place_lightest.h"

namespace mixnet::plan {
namespace {

constexpr int64_t kRepairSteps = 6;  // per slot that could be swapped with one that repeats

// One group of experts that share GPUs: all of them, or those of one host.
class Greedy {
 public:
  Greedy(const PlaceModel& model, bool sources_known)
      : m_(model),
        local_(sources_known && model.networked()),
        held_(model.gpus()),
        on_(model.gpus(), model.experts(), 0),
        load_(model.gpus(), 0),
        nic_load_(model.nics(), 0),
        behind_(model.nics()),
        lightest_(model.gpus()) {
    for (std::size_t g = 0; g < model.gpus() && !behind_.empty(); ++g) {
      behind_[model.nic_of[g]].push_back(g);
    }
  }

  void place(const std::vector<std::size_t>& experts, const std::vector<std::size_t>& gpus) {
    std::vector<int> copies(m_.experts(), 0);
    std::size_t left = 0;
    for (const std::size_t g : gpus) {
      const std::size_t width = m_.start[g + 1] - m_.start[g];
      left += width - static_cast<std::size_t>(m_.repeats[g]) * experts.size();
      for (const std::size_t e : experts) {
        copies[e] += m_.repeats[g];
      }
    }
    // Copies beyond those that every GPU must hold.
    const std::vector<int> extra = choose_counts(experts, copies, left);
    for (const std::size_t g : gpus) {
      for (const std::size_t e : experts) {
        for (int i = 0; i < m_.repeats[g]; ++i) {
          put(g, e, m_.load[e] / (copies[e] + extra[e]));
        }
      }
    }
    struct Piece {
      double load;
      std::size_t expert;
    };
    std::vector<Piece> pieces;
    for (const std::size_t e : experts) {
      pieces.insert(pieces.end(), static_cast<std::size_t>(extra[e]),
                    Piece{m_.load[e] / (copies[e] + extra[e]), e});
    }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.load > b.load; });
    // Pieces of one expert are equal, and so follow each other.
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::size_t e = pieces[i].expert;
      if (i == 0 || pieces[i - 1].expert != e) {
        invite(gpus, e, copies[e] + extra[e], i == 0);
      }
      put_best(gpus, e, pieces[i].load);
    }
    for (const std::size_t g : gpus) {
      lightest_.leave(g);
    }
  }

  int64_t comparisons() const { return lightest_.games(); }

  std::vector<int> experts() const {
    std::vector<int> result;
    result.reserve(m_.slots());
    for (const std::vector<int>& held : held_) {
      result.insert(result.end(), held.begin(), held.end());
    }
    return result;
  }

 private:
  std::vector<int> choose_counts(const std::vector<std::size_t>& experts,
                                 const std::vector<int>& copies, std::size_t left) const {
    std::vector<int> extra(m_.experts(), 0);
    // Largest load per slot first, then fewer slots, then the heavier expert.
    using Entry = std::tuple<double, int, int>;
    std::priority_queue<Entry> queue;
    for (const std::size_t e : experts) {
      if (copies[e] == 0) {
        extra[e] = 1;
        --left;
      }
      const int now = copies[e] + extra[e];
      queue.push({m_.load[e] / now, -now, -static_cast<int>(e)});
    }
    while (left > 0 && !queue.empty()) {
      const auto e = static_cast<std::size_t>(-std::get<2>(queue.top()));
      queue.pop();
      const int now = copies[e] + extra[e];
      if (now < m_.most_copies[e]) {
        ++extra[e];
        --left;
        queue.push({m_.load[e] / (now + 1), -(now + 1), -static_cast<int>(e)});
      }
    }
    // GPUs of very different sizes: repetition is all that is left.
    for (std::size_t i = 0; left > 0; ++i, --left) {
      ++extra[experts[i % experts.size()]];
    }
    return extra;
  }

  bool has_room(std::size_t g) const { return held_[g].size() < m_.start[g + 1] - m_.start[g]; }
  bool may_take(std::size_t g, std::size_t e) const { return on_(g, e) <= m_.repeats[g]; }

  void put(std::size_t g, std::size_t e, double load) {
    held_[g].push_back(static_cast<int>(e));
    ++on_(g, e);
    load_[g] += load;
    if (!nic_load_.empty()) {
      nic_load_[m_.nic_of[g]] += load * m_.nic_factor[m_.nic_of[g]];
    }
  }

  bool candidate(std::size_t g) const { return has_room(g) && may_take(g, expert_); }

  // The GPU's place among those that could take the next piece.
  void update(std::size_t g) {
    if (!candidate(g)) {
      if (lightest_.takes_part(g)) {
        lightest_.leave(g);
      }
      return;
    }
    const double stays = local_ ? m_.from_host(expert_, m_.host_of[g]) / expert_copies_ : 0.0;
    lightest_.set(g, load_[g] - stays, nic_load_.empty() ? 0.0 : nic_load_[m_.nic_of[g]]);
  }

  // From here on, pieces are those of expert `e`. Where sources do not matter, only GPUs that the
  // expert before has changed need a look.
  void invite(const std::vector<std::size_t>& gpus, std::size_t e, int copies, bool all) {
    expert_ = e;
    expert_copies_ = copies;
    for (const std::size_t g : all || local_ ? gpus : taken_) {
      update(g);
    }
    taken_.clear();
  }

  void put_best(const std::vector<std::size_t>& gpus, std::size_t e, double load) {
    std::size_t g = lightest_.first();
    if (g == LightestGpu::kNone) {
      const auto roomy = std::find_if(gpus.rbegin(), gpus.rend(),
                                      [this](std::size_t other) { return has_room(other); });
      g = *roomy;  // slots and pieces are equally many
      if (put_by_moving(gpus, g, e, load)) {
        return;
      }
    }
    put(g, e, load);
    settle(g);
  }

  // After a change of a GPU: those behind its NIC may have changed places as well.
  void settle(std::size_t g) {
    taken_.push_back(g);
    update(g);
    if (nic_load_.empty() || m_.nic_factor[m_.nic_of[g]] == 0) {
      return;
    }
    for (const std::size_t other : behind_[m_.nic_of[g]]) {
      if (other != g && lightest_.takes_part(other)) {
        update(other);
      }
    }
  }

  // `full` has the only room but holds the expert: something of another GPU moves there, and the
  // expert takes its place.
  bool put_by_moving(const std::vector<std::size_t>& gpus, std::size_t full, std::size_t e,
                     double load) {
    for (const std::size_t h : gpus) {
      if (h == full || !may_take(h, e)) {
        continue;
      }
      for (std::size_t i = held_[h].size(); i-- > 0;) {
        const auto f = static_cast<std::size_t>(held_[h][i]);
        if (on_(h, f) > m_.repeats[h] && may_take(full, f)) {
          // The light ones come last; loads are recomputed by whoever reads the result.
          held_[h].erase(held_[h].begin() + static_cast<std::ptrdiff_t>(i));
          --on_(h, f);
          put(full, f, 0);
          put(h, e, load);
          settle(full);
          settle(h);
          return true;
        }
      }
    }
    return false;
  }

  const PlaceModel& m_;
  bool local_;
  std::vector<std::vector<int>> held_;
  Matrix<int> on_;
  std::vector<double> load_;
  std::vector<double> nic_load_;
  std::vector<std::vector<std::size_t>> behind_;  // GPUs of a NIC
  LightestGpu lightest_;                          // that have room for expert_
  std::size_t expert_ = 0;
  int expert_copies_ = 1;
  std::vector<std::size_t> taken_;  // GPUs that took a piece of expert_
};

// All experts on all GPUs, or host by host where experts have homes.
void place_all(const PlaceModel& model, Greedy& greedy) {
  std::vector<std::size_t> gpus(model.gpus());
  std::iota(gpus.begin(), gpus.end(), std::size_t{0});
  std::vector<std::size_t> experts(model.experts());
  std::iota(experts.begin(), experts.end(), std::size_t{0});
  if (model.home[0] < 0) {
    greedy.place(experts, gpus);
    return;
  }
  std::vector<std::vector<std::size_t>> own_gpus(model.hosts());
  std::vector<std::vector<std::size_t>> own_experts(model.hosts());
  for (const std::size_t g : gpus) {
    own_gpus[model.host_of[g]].push_back(g);
  }
  for (const std::size_t e : experts) {
    own_experts[static_cast<std::size_t>(model.home[e])].push_back(e);
  }
  for (std::size_t host = 0; host < model.hosts(); ++host) {
    greedy.place(own_experts[host], own_gpus[host]);
  }
}

// The best swap or, failing that, the best other expert for a slot that repeats one.
void repair(PlaceState& state, std::size_t slot) {
  const PlaceModel& m = state.model();
  const std::size_t none = m.slots();
  std::size_t best = none;
  double best_peak = kNever;
  const bool too_many = state.copies(state.expert_at(slot)) >
                        m.most_copies[static_cast<std::size_t>(state.expert_at(slot))];
  for (std::size_t q = 0; q < m.slots() && !too_many; ++q) {
    const double peak = state.swap_peak(slot, q);
    if (peak < best_peak) {
      best_peak = peak;
      best = q;
    }
  }
  if (best < none) {
    state.swap(slot, best);
    return;
  }
  int other = -1;
  for (int f = 0; f < static_cast<int>(m.experts()); ++f) {
    if (state.can_replace(slot, f) && (other < 0 || state.piece(f) > state.piece(other))) {
      other = f;
    }
  }
  if (other >= 0) {
    state.replace(slot, other);
  }
}

}  // namespace

std::vector<int> greedy_placement(const PlaceModel& model, bool sources_known,
                                  int64_t* comparisons) {
  Greedy greedy(model, sources_known);
  place_all(model, greedy);
  if (comparisons != nullptr) {
    *comparisons = greedy.comparisons();
  }
  return greedy.experts();
}

void remove_duplicates(PlaceState& state, Effort& effort) {
  const PlaceModel& m = state.model();
  const auto look = static_cast<int64_t>(m.slots() + m.experts()) * kRepairSteps;
  for (std::size_t slot = 0; slot < m.slots(); ++slot) {
    const std::size_t g = state.gpu_of(slot);
    if (state.on(g, state.expert_at(slot)) > m.repeats[g] + 1) {
      if (!effort.spend(look)) {
        break;
      }
      repair(state, slot);
    }
  }
  state.rebuild();
}

}  // namespace mixnet::plan
