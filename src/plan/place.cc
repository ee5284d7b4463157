#include "plan/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "plan/eplb.h"
#include "plan/never.h"
#include "plan/place_bound.h"
#include "plan/place_greedy.h"
#include "plan/place_model.h"
#include "plan/place_search.h"

namespace mixnet::plan {
namespace {

constexpr double kCloseEnough = 1e-4;  // of the bound: beyond, a search ends
constexpr double kLoadRounding = 1e-9;
constexpr int64_t kSpreadWork = 10'000'000;

Status check(const PlaceCluster& cluster, const PlaceProblem& problem) {
  if (problem.loads.empty()) {
    return Error{"there are no experts: give at least one load", ""};
  }
  const int64_t least = *std::min_element(problem.loads.begin(), problem.loads.end());
  if (least < 0) {
    return Error{fmt::format("a load is {}: loads are counts of 0 or more", least), ""};
  }
  const std::size_t slots = cluster.slots();
  if (slots < problem.loads.size()) {
    return Error{fmt::format("{} slots do not hold {} experts: give at least {} slots", slots,
                             problem.loads.size(), problem.loads.size()),
                 ""};
  }
  if (problem.groups < 1) {
    return Error{"groups are a count of 1 or more", ""};
  }
  if (!problem.sources.empty() && (problem.sources.rows() != cluster.gpus() ||
                                   problem.sources.cols() != problem.loads.size())) {
    return Error{fmt::format("sources are {} x {}, and there are {} GPUs and {} experts",
                             problem.sources.rows(), problem.sources.cols(), cluster.gpus(),
                             problem.loads.size()),
                 ""};
  }
  if (Status status = check_place_size(cluster, problem.loads.size()); !status) {
    return status;
  }
  return check_current(problem, slots);
}

bool all_equal(const std::vector<int>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// EPLB's map of the same input, where it applies.
std::optional<std::vector<int>> eplb_map(const PlaceCluster& cluster, const PlaceProblem& problem) {
  std::vector<int> per_host(cluster.hosts(), 0);
  for (const int host : cluster.gpu_host) {
    ++per_host[static_cast<std::size_t>(host)];
  }
  if (!all_equal(per_host) || !all_equal(cluster.gpu_slots)) {
    return std::nullopt;
  }
  Result<std::vector<int>> map =
      eplb_layer(problem.loads, static_cast<int>(cluster.slots()), problem.groups,
                 static_cast<int>(cluster.hosts()), static_cast<int>(cluster.gpus()));
  return map.ok() ? std::optional(std::move(map).value()) : std::nullopt;
}

// What PlaceState::gpu_worst() says, without its tables.
double gpu_worst_of(const PlaceModel& m, const std::vector<int>& experts) {
  std::vector<int> copies(m.experts(), 0);
  for (const int e : experts) {
    ++copies[static_cast<std::size_t>(e)];
  }
  double worst = 0;
  for (std::size_t g = 0; g < m.gpus(); ++g) {
    double sum = 0;
    for (std::size_t p = m.start[g]; p < m.start[g + 1]; ++p) {
      const auto e = static_cast<std::size_t>(experts[p]);
      sum += m.load[e] / copies[e];
    }
    worst = std::max(worst, sum);
  }
  return worst;
}

bool obeys(const PlaceState& state) {
  const PlaceModel& m = state.model();
  for (std::size_t g = 0; g < m.gpus(); ++g) {
    for (int e = 0; e < static_cast<int>(m.experts()); ++e) {
      const int home = m.home[static_cast<std::size_t>(e)];
      const bool here = home < 0 || static_cast<std::size_t>(home) == m.host_of[g];
      const int on = state.on(g, e);
      if (on > m.repeats[g] + (here ? 1 : 0) || (here && on < m.repeats[g])) {
        return false;
      }
    }
  }
  return true;
}

// One layer's work: model, limits and what is known of the answer.
class PlacePlanner {
 public:
  PlacePlanner(const PlaceCluster& cluster, const PlaceProblem& problem,
               const PlaceOptions& options)
      : cluster_(cluster),
        problem_(problem),
        options_(options),
        scaled_(scale_problem(cluster, problem, options.nic_weight)),
        unlimited_(scaled_.model),
        eplb_(eplb_map(cluster, problem)) {
    BoundInput input{scaled_.model.load, cluster.slots(), working_gpus(cluster), 0, false};
    input.least_slots = least_slots();
    bound_ = gpu_load_bound(input);
    if (eplb_) {
      eplb_gpu_ = gpu_worst_of(unlimited_, renumbered_experts(scaled_, *eplb_));
      scaled_.model.gpu_cap = eplb_gpu_;
    }
  }

  LayerPlacement run() {
    std::vector<int> best = fresh();
    if (!problem_.current.empty()) {
      best = replanned(std::move(best));
    }
    return finish(best);
  }

 private:
  std::size_t least_slots() const {
    int least = 0;
    for (const int slots : cluster_.gpu_slots) {
      least = slots > 0 && (least == 0 || slots < least) ? slots : least;
    }
    const std::vector<int>& repeats = scaled_.model.repeats;
    const bool repeated = std::any_of(repeats.begin(), repeats.end(), [](int r) { return r > 0; });
    // Where GPUs hold experts more than once, slots have no company of other experts.
    return repeated ? 1 : static_cast<std::size_t>(least);
  }

  double target() const { return bound_ * (1 + kCloseEnough); }

  // Ignoring any placement in use.
  std::vector<int> fresh() {
    PlaceState state(scaled_.model, greedy_placement(scaled_.model, scaled_.sources_known));
    PlaceSearch search(MoveCost{}, 1);
    Effort effort{options_.work};
    Effort spreading{kSpreadWork};
    if (scaled_.sources_known && scaled_.model.networked() && options_.work > 0) {
      exchange_hosts(state, effort);
    }
    keep_below_eplb(state, search);
    if (options_.work > 0) {
      effort.left -= options_.work / 4;  // for the NICs
      search.improve(state, target(), effort);
      effort.left += options_.work / 4;
      state = nics_alone(state, MoveCost{}, effort);
    }
    spread_hot_gpus(state, spreading);
    used_ += effort.used + spreading.used;
    return state.experts();
  }

  // The greedy start may be above EPLB's load. Then it is improved until it is not, or else EPLB's
  // own map is, without its duplicates.
  void keep_below_eplb(PlaceState& state, PlaceSearch& search) {
    const double cap = scaled_.model.gpu_cap * (1 + kLoadRounding);
    if (!eplb_ || state.gpu_worst() <= cap) {
      return;
    }
    PlaceModel gpus_only = scaled_.model;
    gpus_only.nic_factor.assign(gpus_only.nic_factor.size(), 0);
    gpus_only.gpu_cap = kNever;
    PlaceState light = std::move(state).under(gpus_only);
    Effort effort{kEplbWork};
    search.descend(light, cap, effort);
    PlaceState theirs(gpus_only, renumbered_experts(scaled_, *eplb_));
    remove_duplicates(theirs, effort);
    if (light.gpu_worst() > cap && obeys(theirs)) {
      search.descend(theirs, cap, effort);
      if (theirs.gpu_worst() < light.gpu_worst()) {
        light = theirs;
      }
      // The rest of the way, if there is one.
      Effort more{kDefaultPlaceWork};
      search.improve(light, cap, more);
      used_ += more.used;
    }
    used_ += effort.used;
    state = std::move(light).under(scaled_.model);
  }

  // Lowers the worst NIC without lifting the worst GPU.
  PlaceState nics_alone(const PlaceState& from, const MoveCost& moves, Effort& effort) const {
    if (!from.model().networked() || effort.left <= 0) {
      return from;
    }
    PlaceModel model = scaled_.model;
    model.gpu_factor = 0;
    model.gpu_cap = from.gpu_worst();
    PlaceState state(model, from.experts());
    PlaceSearch search(moves, 2);
    const double even = options_.nic_weight * (scaled_.sources_known ? 0 : 1);
    search.improve(state, even * (1 + kCloseEnough), effort);
    PlaceState result = std::move(state).under(scaled_.model);
    return result.gpu_worst() <= from.gpu_worst() + kLoadRounding ? result : from;
  }

  // From the placement in use, or the fresh one if it is worth its moves.
  std::vector<int> replanned(std::vector<int> fresh) {
    PlaceState current(scaled_.model, renumbered_experts(scaled_, problem_.current));
    MoveCost moves;
    moves.each = options_.move_cost;
    moves.on = Matrix<int>(cluster_.gpus(), scaled_.model.experts());
    for (std::size_t g = 0; g < moves.on.rows(); ++g) {
      for (std::size_t e = 0; e < moves.on.cols(); ++e) {
        moves.on(g, e) = current.on(g, static_cast<int>(e));
      }
    }
    PlaceState best(unlimited_, std::move(fresh));
    PlaceState stepwise(unlimited_, current.experts());
    Effort effort{std::max<int64_t>(options_.work, 1)};
    if (!obeys(stepwise)) {
      Effort repairing{kEplbWork};
      remove_duplicates(stepwise, repairing);
      used_ += repairing.used;
    }
    if (!obeys(stepwise)) {
      note_ = "the placement in use repeats experts on GPUs or leaves its groups, and is not kept";
      return best.experts();
    }
    PlaceSearch search(moves, 3);
    search.improve(stepwise, target(), effort);
    used_ += effort.used;
    return moves.cost(stepwise) <= moves.cost(best) + kLoadRounding ? stepwise.experts()
                                                                    : best.experts();
  }

  // Slots of a GPU: what stays where it was, then the heaviest first.
  std::vector<int> arranged(const std::vector<int>& experts) const {
    const PlaceModel& m = scaled_.model;
    std::vector<int> result(experts.size(), -1);
    const std::vector<int> before = problem_.current.empty()
                                        ? std::vector<int>(experts.size(), -1)
                                        : renumbered_experts(scaled_, problem_.current);
    for (std::size_t g = 0; g < m.gpus(); ++g) {
      std::vector<int> own(experts.begin() + static_cast<std::ptrdiff_t>(m.start[g]),
                           experts.begin() + static_cast<std::ptrdiff_t>(m.start[g + 1]));
      std::sort(own.begin(), own.end());
      for (std::size_t p = m.start[g]; p < m.start[g + 1]; ++p) {
        const auto stays = std::find(own.begin(), own.end(), before[p]);
        if (stays != own.end()) {
          result[p] = before[p];
          own.erase(stays);
        }
      }
      auto next = own.begin();
      for (std::size_t p = m.start[g]; p < m.start[g + 1]; ++p) {
        if (result[p] < 0) {
          result[p] = *next++;
        }
      }
    }
    return result;
  }

  // Where groups stay on hosts, only the experts of the host can be told apart.
  int duplicates(const std::vector<int>& experts) const {
    const PlaceModel& m = unlimited_;
    std::vector<int> on(m.experts(), 0);
    int count = 0;
    for (std::size_t g = 0; g < m.gpus(); ++g) {
      for (std::size_t p = m.start[g]; p < m.start[g + 1]; ++p) {
        count += ++on[static_cast<std::size_t>(experts[p])] > m.repeats[g] + 1 ? 1 : 0;
      }
      for (std::size_t p = m.start[g]; p < m.start[g + 1]; ++p) {
        on[static_cast<std::size_t>(experts[p])] = 0;
      }
    }
    return count;
  }

  LayerPlacement finish(const std::vector<int>& experts) const {
    LayerPlacement placement;
    placement.phy2log = original_experts(scaled_, arranged(experts));
    const std::size_t n = problem_.loads.size();
    placement.logcnt.assign(n, 0);
    for (const int e : placement.phy2log) {
      ++placement.logcnt[static_cast<std::size_t>(e)];
    }
    const int most = *std::max_element(placement.logcnt.begin(), placement.logcnt.end());
    placement.log2phy = Matrix<int>(n, static_cast<std::size_t>(most), -1);
    std::vector<std::size_t> used(n, 0);
    for (std::size_t p = 0; p < placement.phy2log.size(); ++p) {
      const auto e = static_cast<std::size_t>(placement.phy2log[p]);
      placement.log2phy(e, used[e]++) = static_cast<int>(p);
    }
    placement.score = score_placement(cluster_, problem_, placement.phy2log);
    placement.score.duplicates = duplicates(experts);
    const bool loaded = bound_ > 0;
    placement.bound = loaded ? bound_ : 1;
    placement.eplb_gpu = !eplb_ ? 0 : loaded ? eplb_gpu_ : 1;
    placement.above_eplb = eplb_ && placement.score.gpu > placement.eplb_gpu * (1 + kLoadRounding);
    if (!problem_.current.empty()) {
      placement.moved = moved_experts(cluster_, problem_.current, placement.phy2log);
    }
    placement.steps = used_;
    placement.note = scaled_.note;
    if (!note_.empty()) {
      placement.note += (placement.note.empty() ? "" : "; ") + note_;
    }
    return placement;
  }

  const PlaceCluster& cluster_;
  const PlaceProblem& problem_;
  const PlaceOptions& options_;
  ScaledProblem scaled_;
  PlaceModel unlimited_;  // without the cap
  std::optional<std::vector<int>> eplb_;
  double eplb_gpu_ = 0;
  double bound_ = 1;
  std::string note_;
  int64_t used_ = 0;  // steps of all searches
};

}  // namespace

Status check_place_size(const PlaceCluster& cluster, std::size_t experts) {
  if (cluster.gpus() * experts > kMostPlaceCells) {
    return Error{
        fmt::format("{} experts on {} GPUs are {} pairs, and tables are kept for {}: place "
                    "fewer experts, or on fewer GPUs, at once",
                    experts, cluster.gpus(), cluster.gpus() * experts, kMostPlaceCells),
        ""};
  }
  return {};
}

Status check_current(const PlaceProblem& problem, std::size_t slots) {
  if (problem.current.empty()) {
    return {};
  }
  if (problem.current.size() != slots) {
    return Error{fmt::format("the placement in use has {} slots, the new one {}: give equally many",
                             problem.current.size(), slots),
                 ""};
  }
  std::vector<bool> seen(problem.loads.size(), false);
  for (const int e : problem.current) {
    if (e < 0 || static_cast<std::size_t>(e) >= seen.size()) {
      return Error{
          fmt::format("the placement in use names expert {}, and there are {}", e, seen.size()),
          ""};
    }
    seen[static_cast<std::size_t>(e)] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) {
    return Error{
        fmt::format("the placement in use has no slot of expert {}", missing - seen.begin()), ""};
  }
  return {};
}

const char* place_policy_name(PlacePolicy policy) {
  switch (policy) {
    case PlacePolicy::kEplb:
      return "eplb";
    case PlacePolicy::kNicAware:
      return "nic-aware";
    case PlacePolicy::kJoint:
      return "joint";
  }
  return "";
}

Result<LayerPlacement> place_layer(const PlaceCluster& cluster, const PlaceProblem& problem,
                                   const PlaceOptions& options) {
  if (Status s = check(cluster, problem); !s) {
    return s.error();
  }
  return PlacePlanner(cluster, problem, options).run();
}

}  // namespace mixnet::plan
