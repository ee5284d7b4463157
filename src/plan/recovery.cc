#include "plan/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::plan {
namespace {

int ceil_div(int a, int b) {
  CHECK(b > 0, "shares for nobody");
  return (a + b - 1) / b;
}

// A place for one expert, and where the expert comes from.
struct Choice {
  int gpu = -1;
  ReloadSource source = ReloadSource::kDisk;
  int from_host = -1;
  SimTime end = SimTime::max();
};

class RecoveryPlanner {
 public:
  RecoveryPlanner(const RecoveryProblem& problem, const Losses& losses)
      : problem_(problem), map_(problem.map) {
    CHECK(map_.gpus >= 1 && map_.gpus_per_host >= 1 && map_.slots_per_gpu >= 1, "empty map");
    CHECK(losses.hosts.size() == at(map_.hosts()) && losses.gpus.size() == at(map_.gpus),
          "one entry per host and GPU");
    CHECK(problem.first_layer >= 0 && at(problem.first_layer) < map_.layers.size(), "no layer");
    int last_host = -1;
    for (int g = 0; g < map_.gpus; ++g) {
      gpu_works_.push_back(losses.gpus[at(g)] == 0 && losses.hosts[at(host_of(g))] == 0);
      working_gpus_ += gpu_works_.back() ? 1 : 0;
      if (gpu_works_.back() && host_of(g) != last_host) {
        last_host = host_of(g);
        ++hosts_with_gpus_;
      }
    }
    for (int h = 0; h < map_.hosts(); ++h) {
      host_works_.push_back(losses.hosts[at(h)] == 0);
    }
    link_end_.resize(at(map_.gpus));
    loads_.resize(at(map_.gpus));
    for (std::vector<SimTime>* ends : {&send_end_, &receive_end_, &disk_end_}) {
      ends->resize(at(map_.hosts()));
    }
    link_ = transfer_time(problem.costs.expert, problem.costs.host_to_gpu);
    network_ = transfer_time(problem.costs.expert, problem.costs.network);
    disk_ =
        problem.costs.on_disk ? transfer_time(problem.costs.expert, problem.costs.disk) : SimTime();
  }

  Result<RecoveryPlan> run() {
    if (working_gpus_ == map_.gpus) {
      return Error{"nothing is lost: there is nothing to recover", ""};
    }
    if (working_gpus_ == 0) {
      return Error{"every GPU is lost: a plan needs at least one that works", ""};
    }
    const int layers = static_cast<int>(map_.layers.size());
    for (int k = 0; k < layers; ++k) {
      plan_.layer_order.push_back((problem_.first_layer + k) % layers);
    }
    for (const int layer : plan_.layer_order) {
      take_stock(layer);
    }
    if (!unreachable_.empty()) {
      return unreachable_error();
    }
    if (Status room = check_room(); !room.ok()) {
      return room.error();
    }
    plan_.layer_ready.resize(map_.layers.size());
    for (const int layer : plan_.layer_order) {
      load_layer(layer);
    }
    time_execution();
    return std::move(plan_);
  }

 private:
  struct LayerStock {
    std::vector<int> copies;  // [experts] on working GPUs
    std::vector<int> lost;    // experts without one
    int empty = 0;            // slots of working GPUs
    int redundant = 0;        // copies beyond the first
  };

  int host_of(int gpu) const { return gpu / map_.gpus_per_host; }
  int host_of_slot(std::size_t slot) const {
    return host_of(static_cast<int>(slot) / map_.slots_per_gpu);
  }

  void take_stock(int layer) {
    const std::vector<int>& slots = map_.layers[at(layer)];
    CHECK(slots.size() == at(map_.gpus) * at(map_.slots_per_gpu), "one entry per slot");
    LayerStock stock;
    stock.copies.resize(at(map_.experts));
    std::vector<int> before(at(map_.experts));
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const bool works = gpu_works_[s / at(map_.slots_per_gpu)];
      CHECK(slots[s] >= -1 && slots[s] < map_.experts, "an expert out of range");
      if (slots[s] >= 0) {
        ++before[at(slots[s])];
        stock.copies[at(slots[s])] += works ? 1 : 0;
      } else {
        stock.empty += works ? 1 : 0;
      }
    }
    for (int e = 0; e < map_.experts; ++e) {
      const int left = stock.copies[at(e)];
      stock.redundant += std::max(left - 1, 0);
      if (left > 0) {
        if (left < before[at(e)]) {
          plan_.survivors.push_back({layer, e, left});
        }
        continue;
      }
      stock.lost.push_back(e);
      if (!problem_.costs.on_disk && memories_of(layer, e).empty()) {
        unreachable_.emplace_back(layer, e);
      }
    }
    stocks_.push_back(std::move(stock));
  }

  // Working hosts that keep the expert in memory, ascending.
  std::vector<int> memories_of(int layer, int expert) const {
    std::vector<uint8_t> keeps(at(map_.hosts()));
    const std::vector<int>& slots = map_.layers[at(layer)];
    const auto first = std::find(slots.begin(), slots.end(), expert);
    switch (problem_.cache) {
      case ExpertCache::kNone:
        break;
      case ExpertCache::kOwn:
        for (std::size_t s = 0; s < slots.size(); ++s) {
          keeps[at(host_of_slot(s))] |= slots[s] == expert ? 1 : 0;
        }
        break;
      case ExpertCache::kRing:
        for (int k = 0; first != slots.end() && k < problem_.cache_copies; ++k) {
          const int home = host_of_slot(static_cast<std::size_t>(first - slots.begin()));
          keeps[at((home + k) % map_.hosts())] = 1;
        }
        break;
      case ExpertCache::kAll:
        std::fill(keeps.begin(), keeps.end(), uint8_t{1});
        break;
    }
    std::vector<int> hosts;
    for (int h = 0; h < map_.hosts(); ++h) {
      if (keeps[at(h)] != 0 && host_works_[at(h)]) {
        hosts.push_back(h);
      }
    }
    return hosts;
  }

  Error unreachable_error() const {
    const auto [layer, expert] = unreachable_.front();
    std::string more;
    if (unreachable_.size() > 1) {
      more = fmt::format(" (and {} more experts)", unreachable_.size() - 1);
    }
    return Error{fmt::format("expert {} of layer {} has no copy anywhere{}: no working GPU and no "
                             "working host's memory holds it, and it is not on disk; keep more "
                             "copies in memory, or the weights on disk",
                             expert, layer, more),
                 ""};
  }

  Status check_room() const {
    int spare = problem_.spare_slots;
    int worst_layer = -1;
    int64_t worst_missing = 0;
    for (std::size_t k = 0; k < stocks_.size(); ++k) {
      const LayerStock& stock = stocks_[k];
      const int64_t missing = static_cast<int64_t>(stock.lost.size()) - stock.empty -
                              stock.redundant - int64_t{problem_.spare_slots} * working_gpus_;
      if (missing > worst_missing) {
        worst_missing = missing;
        worst_layer = plan_.layer_order[k];
        spare =
            problem_.spare_slots + static_cast<int>((missing + working_gpus_ - 1) / working_gpus_);
      }
    }
    if (worst_missing == 0) {
      return {};
    }
    return Error{
        fmt::format("{} experts of layer {} do not fit into the {} working GPUs: "
                    "{} spare slots per GPU and layer would hold them, {} are given",
                    worst_missing, worst_layer, working_gpus_, spare, problem_.spare_slots),
        ""};
  }

  void load_layer(int layer) {
    LayerStock& stock =
        stocks_[at((layer - problem_.first_layer + static_cast<int>(map_.layers.size())) %
                   static_cast<int>(map_.layers.size()))];
    std::vector<int> slots = map_.layers[at(layer)];
    std::vector<int> spare_used(at(map_.gpus));
    for (const int expert : stock.lost) {
      const std::vector<int> memories = memories_of(layer, expert);
      Choice best = best_choice(memories, [&](int g) {
        return spare_used[at(g)] < problem_.spare_slots || empty_slot(slots, g) >= 0;
      });
      const bool evicts = best.gpu < 0;
      if (evicts) {
        best = best_choice(memories,
                           [&](int g) { return redundant_slot(slots, stock.copies, g) >= 0; });
      }
      CHECK(best.gpu >= 0, "room that was counted is not there");
      Reload reload{layer, expert, best.gpu, 0, best.source, best.from_host, -1};
      reload.slot =
          evicts ? redundant_slot(slots, stock.copies, best.gpu) : empty_slot(slots, best.gpu);
      if (reload.slot < 0) {
        reload.slot = map_.slots_per_gpu + spare_used[at(best.gpu)]++;
      } else {
        int& place = slots[at(best.gpu * map_.slots_per_gpu + reload.slot)];
        reload.evicted = place;
        if (place >= 0) {
          --stock.copies[at(place)];
        }
        place = expert;
      }
      // Its copy must stay: counting it keeps it from being evicted.
      stock.copies[at(expert)] = 1;
      plan_.reloads.push_back(reload);
      occupy(best);
    }
    plan_.layer_ready[at(layer)] = latest_;
    count_for_bound(layer);
  }

  int empty_slot(const std::vector<int>& slots, int gpu) const {
    for (int s = 0; s < map_.slots_per_gpu; ++s) {
      if (slots[at(gpu * map_.slots_per_gpu + s)] < 0) {
        return s;
      }
    }
    return -1;
  }

  // The slot of the expert with the most copies, if those are two or more.
  int redundant_slot(const std::vector<int>& slots, const std::vector<int>& copies, int gpu) const {
    int best = -1;
    int most = 1;
    for (int s = 0; s < map_.slots_per_gpu; ++s) {
      const int expert = slots[at(gpu * map_.slots_per_gpu + s)];
      if (expert >= 0 && copies[at(expert)] > most) {
        most = copies[at(expert)];
        best = s;
      }
    }
    return best;
  }

  template <typename HasRoom>
  Choice best_choice(const std::vector<int>& memories, const HasRoom& has_room) const {
    Choice best;
    const auto rank = [this](const Choice& c) {
      return std::tuple(c.end, c.source, loads_[at(c.gpu)]);
    };
    for (int g = 0; g < map_.gpus; ++g) {
      if (!gpu_works_[at(g)] || !has_room(g)) {
        continue;
      }
      const Choice here = best_source(memories, g);
      if (best.gpu < 0 || rank(here) < rank(best)) {
        best = here;
      }
    }
    return best;
  }

  Choice best_source(const std::vector<int>& memories, int gpu) const {
    const int host = host_of(gpu);
    const SimTime link = link_end_[at(gpu)] + link_;
    if (memories.empty()) {
      return {gpu, ReloadSource::kDisk, host, later_of(link, disk_end_[at(host)] + disk_)};
    }
    if (std::find(memories.begin(), memories.end(), host) != memories.end()) {
      return {gpu, ReloadSource::kOwnMemory, host, link};
    }
    Choice best{gpu, ReloadSource::kOtherMemory, -1, SimTime::max()};
    for (const int h : memories) {
      const SimTime network = later_of(send_end_[at(h)], receive_end_[at(host)]) + network_;
      const SimTime end = later_of(link, network);
      if (end < best.end) {
        best.end = end;
        best.from_host = h;
      }
    }
    return best;
  }

  void occupy(const Choice& choice) {
    const std::size_t host = at(host_of(choice.gpu));
    const Bytes bytes = problem_.costs.expert;
    link_end_[at(choice.gpu)] += link_;
    ++loads_[at(choice.gpu)];
    switch (choice.source) {
      case ReloadSource::kOwnMemory:
        plan_.from_own_memory += bytes;
        break;
      case ReloadSource::kOtherMemory: {
        const SimTime end =
            later_of(send_end_[at(choice.from_host)], receive_end_[host]) + network_;
        send_end_[at(choice.from_host)] = end;
        receive_end_[host] = end;
        plan_.from_other_memory += bytes;
        break;
      }
      case ReloadSource::kDisk:
        disk_end_[host] += disk_;
        ++disk_loads_;
        plan_.from_disk += bytes;
        break;
    }
    latest_ = later_of(latest_, choice.end);
  }

  // However loads are spread, some link carries the mean number of them, and some disk too.
  void count_for_bound(int layer) {
    const int links = ceil_div(static_cast<int>(plan_.reloads.size()), working_gpus_);
    bound_ready_.emplace_back(
        layer, later_of(link_ * links, disk_ * ceil_div(disk_loads_, hosts_with_gpus_)));
  }

  // One pass over the layers in their order, each as soon as it is ready.
  void time_execution() {
    const RecoveryCosts& costs = problem_.costs;
    const SimTime start = costs.detection + costs.setup;
    SimTime end = start;
    SimTime bound_end = start;
    for (const auto& [layer, bound] : bound_ready_) {
      SimTime& ready = plan_.layer_ready[at(layer)];
      ready += start;
      end = later_of(end, ready) + costs.layer;
      bound_end = later_of(bound_end, start + bound) + costs.layer;
    }
    const SimTime work = costs.layer * static_cast<int64_t>(map_.layers.size());
    plan_.stall = end - work;
    plan_.stall_bound = bound_end - work;
    plan_.unpipelined = start + latest_;
  }

  const RecoveryProblem& problem_;
  const ExpertMap& map_;
  std::vector<bool> gpu_works_;
  std::vector<bool> host_works_;
  int working_gpus_ = 0;
  int hosts_with_gpus_ = 0;  // that work
  SimTime link_;             // one expert over each kind of resource
  SimTime network_;
  SimTime disk_;
  std::vector<SimTime> link_end_;  // [gpus] when what is planned so far has passed
  std::vector<SimTime> send_end_;  // [hosts]
  std::vector<SimTime> receive_end_;
  std::vector<SimTime> disk_end_;
  std::vector<int> loads_;  // [gpus]
  int disk_loads_ = 0;
  SimTime latest_;                                    // end of all loads so far
  std::vector<LayerStock> stocks_;                    // in the order of execution
  std::vector<std::pair<int, int>> unreachable_;      // layer, expert
  std::vector<std::pair<int, SimTime>> bound_ready_;  // layer, lower bound of its loads
  RecoveryPlan plan_;
};

}  // namespace

Result<RecoveryPlan> plan_recovery(const RecoveryProblem& problem, const Losses& losses) {
  return RecoveryPlanner(problem, losses).run();
}

}  // namespace mixnet::plan
