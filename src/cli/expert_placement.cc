#include "cli/expert_placement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/expert_moves.h"
#include "core/check.h"
#include "core/host_shape.h"
#include "plan/eplb.h"
#include "plan/place.h"
#include "plan/place_joint.h"
#include "plan/swap_cost.h"

namespace mixnet::cli {
namespace {

// Counts as integers: a source row is worth this much if counts are only weights.
constexpr double kRowWeight = 1e6;

struct Extent {
  int64_t steps = 0;  // of one iteration, on the trace's first axis
  int64_t first = 0;
  int64_t last = 0;  // after the last simulated step
};

Extent extent_of(const Study& study, const RoutingView& routing) {
  Extent extent;
  extent.steps = study.routing.per_micro_batch ? study.parallelism.micro_batches : 1;
  extent.first = study.routing.first_iteration;
  extent.last = std::min(routing.iterations, extent.first + study.run.iterations * extent.steps);
  return extent;
}

int ranks_per_server(const Study& study) {
  return std::max(1, study.cluster.gpus_per_server / study.parallelism.tp);
}

// Of one expert of one layer, with all that training keeps for it.
Bytes expert_state_bytes(const Study& study) {
  const auto parameters =
      int64_t{3} * study.model.hidden * static_cast<int64_t>(study.model.expert_ffn);
  return plan::expert_bytes(plan::training_state(parameters));
}

// Token assignments [ep, experts] of a layer over trace steps [from, to), all copies together.
DemandMatrix assignments(const Study& study, const RoutingView& routing, int64_t layer,
                         std::pair<int64_t, int64_t> window) {
  const auto ep = static_cast<std::size_t>(study.parallelism.ep);
  DemandMatrix sum(ep, static_cast<std::size_t>(routing.experts));
  for (int64_t step = window.first; step < window.second; ++step) {
    for (int64_t source = 0; source < routing.sources; ++source) {
      const auto row = routing.row(step, layer, source);
      const double all = std::accumulate(row.begin(), row.end(), 0.0);
      const double scale = study.routing.counts_are_weights && all > 0 ? kRowWeight / all : 1;
      for (std::size_t x = 0; x < row.size(); ++x) {
        sum(static_cast<std::size_t>(source) % ep, x) += scale * row[x];
      }
    }
  }
  return sum;
}

std::vector<int64_t> loads_of(const DemandMatrix& sent) {
  std::vector<int64_t> loads;
  for (std::size_t x = 0; x < sent.cols(); ++x) {
    double sum = 0;
    for (std::size_t r = 0; r < sent.rows(); ++r) {
      sum += sent(r, x);
    }
    loads.push_back(std::llround(sum));
  }
  return loads;
}

Result<std::vector<int>> eplb(const DemandMatrix& sent, int ranks) {
  const std::vector<int64_t> loads = loads_of(sent);
  return plan::eplb_layer(loads, static_cast<int>(loads.size()), 1, 1, ranks);
}

Result<std::vector<int>> nic_aware(const Study& study, const DemandMatrix& sent,
                                   const std::vector<int>& current) {
  const int ranks = study.parallelism.ep;
  const int in_server = std::min(ranks, ranks_per_server(study));
  HostShape shape = plan::one_nic_per_gpu(in_server);
  if (study.network.nics == NicUse::kPooled) {
    std::fill(shape.nic_of_gpu.begin(), shape.nic_of_gpu.end(), 0);
    shape.nic_rate.resize(1);
  }
  for (BitRate& rate : shape.nic_rate) {
    rate = study.cluster.nic_rate;
  }
  const Result<plan::PlaceCluster> cluster =
      plan::even_cluster(ranks, ranks / in_server, static_cast<int>(sent.cols()), shape);
  if (!cluster.ok()) {
    return cluster.error();
  }
  plan::PlaceProblem problem;
  problem.loads = loads_of(sent);
  problem.sources = sent;
  problem.current = current;
  const Result<plan::LayerPlacement> placed =
      plan::place_layer(*cluster, problem, plan::PlaceOptions{});
  if (!placed.ok()) {
    return placed.error();
  }
  return placed->phy2log;
}

std::vector<int> joint(const Study& study, const FabricSpec& spec, const DemandMatrix& sent,
                       const std::vector<std::vector<int>>& starts) {
  const int in_server = std::min(study.parallelism.ep, ranks_per_server(study));
  const auto servers = static_cast<std::size_t>(study.parallelism.ep / in_server);
  plan::JointProblem problem;
  problem.sent = DemandMatrix(servers, sent.cols());
  problem.gpus_per_server = in_server;
  problem.alpha = spec.mixnet.alpha;
  problem.eps = study.cluster.nics_per_server - spec.mixnet.alpha;
  problem.allocator = spec.mixnet.allocator;
  for (std::size_t r = 0; r < sent.rows(); ++r) {
    for (std::size_t x = 0; x < sent.cols(); ++x) {
      problem.sent(r / static_cast<std::size_t>(in_server), x) += sent(r, x);
    }
  }
  return plan::place_and_wire(problem, starts).slot_expert;
}

Result<std::vector<int>> plan_layer(const Study& study, const FabricSpec& spec,
                                    const DemandMatrix& sent, const std::vector<int>& current) {
  if (spec.placement == ExpertPlacement::kEplb) {
    return eplb(sent, study.parallelism.ep);
  }
  Result<std::vector<int>> aware = nic_aware(study, sent, current);
  if (!aware.ok() || spec.placement == ExpertPlacement::kNicAware) {
    return aware;
  }
  return joint(study, spec, sent, {current, std::move(aware).value()});
}

// Writes columns [slot] of the steps [from, to) of a layer.
void permute(const RoutingView& routing, int64_t layer, std::pair<int64_t, int64_t> window,
             const std::vector<int>& slot_expert, PlacedRouting& placed) {
  for (int64_t step = window.first; step < window.second; ++step) {
    for (int64_t source = 0; source < routing.sources; ++source) {
      const auto row = routing.row(step, layer, source);
      uint32_t* const out =
          placed.counts.data() +
          ((step * routing.layers + layer) * routing.sources + source) * routing.experts;
      for (std::size_t s = 0; s < slot_expert.size(); ++s) {
        out[s] = row[static_cast<std::size_t>(slot_expert[s])];
      }
    }
  }
}

// Plans and permutes one layer over the whole run.
Status place_one_layer(const Study& study, const FabricSpec& spec, const RoutingView& routing,
                       int64_t layer, PlacedRouting& placed) {
  const Extent extent = extent_of(study, routing);
  const int64_t period =
      spec.placement_every > 0 ? spec.placement_every * extent.steps : extent.last - extent.first;
  const int64_t memory = spec.placement_every > 0 ? period : extent.steps;
  std::vector<int> current(static_cast<std::size_t>(routing.experts));
  std::iota(current.begin(), current.end(), 0);
  for (int64_t begin = extent.first; begin < extent.last; begin += period) {
    std::pair<int64_t, int64_t> seen{std::max<int64_t>(0, begin - memory), begin};
    if (begin == 0) {
      seen.second = std::min(extent.steps, extent.last);
      placed.foresight = true;
    }
    Result<std::vector<int>> next =
        plan_layer(study, spec, assignments(study, routing, layer, seen), current);
    if (!next.ok()) {
      return next.error();
    }
    const ExpertMoves moves =
        moves_between(current, *next, study.parallelism.ep, ranks_per_server(study));
    placed.result.moved += moves.moved;
    placed.result.moving =
        placed.result.moving + moving_time(moves, expert_state_bytes(study), study);
    ++placed.result.plans;
    current = std::move(next).value();
    // What came before the run is history: as the first plan sees it.
    const int64_t from = begin == extent.first ? 0 : begin;
    permute(routing, layer, {from, std::min(begin + period, extent.last)}, current, placed);
  }
  return Status();
}

}  // namespace

double expert_imbalance(const Study& study, const RoutingView& routing) {
  const Extent extent = extent_of(study, routing);
  const auto ep = static_cast<std::size_t>(study.parallelism.ep);
  const std::size_t slots = static_cast<std::size_t>(routing.experts) / ep;
  double sum = 0;
  int64_t count = 0;
  for (int64_t step = extent.first; step < extent.last; ++step) {
    for (int64_t layer = 0; layer < routing.layers; ++layer) {
      const std::vector<int64_t> loads =
          loads_of(assignments(study, routing, layer, {step, step + 1}));
      std::vector<double> ranks(ep, 0.0);
      for (std::size_t s = 0; s < loads.size(); ++s) {
        ranks[s / slots] += static_cast<double>(loads[s]);
      }
      const double all = std::accumulate(ranks.begin(), ranks.end(), 0.0);
      const double most = *std::max_element(ranks.begin(), ranks.end());
      sum += all > 0 ? most * static_cast<double>(ep) / all : 1;
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 1;
}

Result<PlacedRouting> place_experts(const Study& study, const FabricSpec& spec,
                                    const RoutingView& routing) {
  CHECK(spec.placement != ExpertPlacement::kFixed, "a fixed placement plans nothing");
  PlacedRouting placed;
  placed.shape = routing;
  placed.shape.iterations = extent_of(study, routing).last;
  placed.counts.resize(static_cast<std::size_t>(placed.shape.iterations * routing.layers *
                                                routing.sources * routing.experts));
  for (int64_t layer = 0; layer < routing.layers; ++layer) {
    if (Status status = place_one_layer(study, spec, routing, layer, placed); !status) {
      return status.error();
    }
  }
  // Layers that repeat a traced one move as it does.
  const double layers =
      static_cast<double>(study.model.moe_layers()) /
      static_cast<double>(std::min<int64_t>(routing.layers, study.model.moe_layers()));
  placed.result.moved = std::llround(static_cast<double>(placed.result.moved) * layers);
  placed.result.moved_bytes =
      expert_state_bytes(study) * (placed.result.moved * study.parallelism.dp);
  // Stages move their layers side by side.
  placed.result.moving = SimTime::from_ps(std::llround(
      static_cast<double>(placed.result.moving.ps()) * layers / std::max(1, study.parallelism.pp)));
  placed.result.imbalance = expert_imbalance(study, placed.view());
  return placed;
}

}  // namespace mixnet::cli
