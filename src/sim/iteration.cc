#include "sim/iteration.h"

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/workload.h"
#include "sim/critical_path.h"
#include "sim/executor.h"
#include "sim/step_times.h"
#include "sim/timeline.h"

namespace mixnet::sim {
namespace {

std::unique_ptr<Fabric> make_fabric(const Study& study, const FabricSpec& spec,
                                    const Placement& placement, DemandTable& demand,
                                    const IterationOptions& options) {
  const bool pooled = study.network.nics == NicUse::kPooled;
  switch (spec.kind) {
    case FabricKind::kIdeal:
      return make_ideal(study, placement);
    case FabricKind::kFatTree:
    case FabricKind::kFatTreeOversubscribed:
      return pooled ? make_pooled_tree(study, spec, placement)
                    : make_pinned_tree(study, spec, placement);
    case FabricKind::kRailOptimized:
      return pooled ? make_pooled_rails(study, spec, placement)
                    : make_pinned_rails(study, spec, placement);
    case FabricKind::kTopoOpt:
      CHECK(options.topology, "topoopt needs a topology policy");
      return make_topoopt(study, placement,
                          options.topology(iteration_traffic(study, placement, demand),
                                           placement.servers(), study.cluster.nics_per_server));
    case FabricKind::kMixnet:
      CHECK(options.wiring.wire && options.wiring.route, "mixnet needs a wiring policy");
      return make_mixnet(study, spec, placement);
  }
  CHECK(false, "unknown fabric kind");
}

// NVLink bytes of the tensor-parallel all-reduces of one iteration, all GPUs.
Bytes tensor_bytes(const Study& study, const Placement& placement, DemandTable& demand,
                   const Execution& execution) {
  const Parallelism& p = study.parallelism;
  const double activation = static_cast<double>(
      activation_bytes(study.model, study.compute, p.tokens_per_micro_batch()).count());
  const double copy = static_cast<double>(assignment_bytes(study.model, study.compute).count());
  double total = 0;
  for (int region = 0; region < placement.regions(); ++region) {
    for (const Step& s : execution.programs[static_cast<std::size_t>(placement.stage_of(region))]) {
      if (s.kind != StepKind::kCompute || s.activity != Activity::kTensor) {
        continue;
      }
      if (!s.experts) {
        total += activation * p.ep;
        continue;
      }
      const DemandMatrix& d = demand
                                  .at(demand.key(s.micro_batch, moe_index(study.model, s.layer),
                                                 placement.copy_of(region)))
                                  .ranks;
      for (const double tokens : d.cells()) {
        total += tokens * copy;
      }
    }
  }
  // A ring all-reduce over tp GPUs sends 2 (tp - 1) times the buffer in all.
  return Bytes(static_cast<int64_t>(total * 2.0 * (p.tp - 1)));
}

Bytes pipeline_bytes(const Study& study, const Placement& placement) {
  const Parallelism& p = study.parallelism;
  return activation_bytes(study.model, study.compute, p.tokens_per_micro_batch()) *
         (2LL * p.micro_batches * (p.pp - 1) * placement.copies() * p.ep);
}

CircuitsId circuits_in_use(Cadence cadence, const DemandKey& key, CircuitBook& book) {
  switch (cadence) {
    case Cadence::kLayer:
      return book.for_layer(key);
    case Cadence::kIteration:
      return book.for_stage(0, 0, CircuitBook::When::kNow);
    case Cadence::kOnce:
      return book.for_stage(0, 0, CircuitBook::When::kBefore);
    case Cadence::kNever:
    case Cadence::kEvery:
    case Cadence::kStage:
    case Cadence::kAuto:
      break;
  }
  CHECK(false, "unknown cadence");
}

// The first MoE layer of the first region, as demand and circuits for the pictures.
void record_region(const Study& study, const Fabric& fabric, const FabricSpec& spec,
                   DemandTable& demand, CircuitBook& book, FabricResult& result) {
  const StageLayers layers = stage_layers(study.model, study.parallelism.pp, 0);
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    if (!study.model.is_moe(layer)) {
      continue;
    }
    const DemandKey key = demand.key(0, moe_index(study.model, layer), 0);
    result.region_demand = demand.at(key).servers;
    if (fabric.has_circuits()) {
      result.region_circuits = book.circuits(circuits_in_use(spec.mixnet.cadence, key, book));
    }
    return;
  }
}

}  // namespace

double longest_iteration_s(const Study& study, const FabricSpec& fabric) {
  const Parallelism& p = study.parallelism;
  const double assignments =
      static_cast<double>(p.tokens_per_micro_batch()) * study.model.top_k * p.ep;
  const StepTimes times(study);
  double compute = 0;
  for (const Activity a : {Activity::kAttention, Activity::kGate, Activity::kExpert,
                           Activity::kAddNorm, Activity::kDense, Activity::kTensor}) {
    Step step;
    step.activity = a;
    step.layer = study.model.layers - 1;
    step.experts = a == Activity::kTensor;
    compute += times.compute(step, assignments).seconds() * 2;
  }
  const double copy = static_cast<double>(assignment_bytes(study.model, study.compute).count()) +
                      static_cast<double>(study.network.packet_header.count());
  const double nic = study.cluster.nic_rate.bytes_per_second();
  const double latency = 16 * (study.network.link_latency + study.network.nvlink_latency).seconds();
  const double exchange = 2 * assignments * copy / nic + latency;
  const double dark = (fabric.mixnet.switch_time + fabric.mixnet.relink_time).seconds();
  const double layer = (1 + study.compute.backward_factor) * compute + 4 * exchange + 4 * dark;
  return layer * (study.model.layers + 2.0) * (p.micro_batches + p.pp);
}

FabricResult simulate_iteration(const Study& study, const FabricSpec& spec,
                                const RoutingView& routing, const IterationOptions& options) {
  const Placement placement(study.parallelism, study.cluster);
  DemandTable demand(study.model, study.parallelism, study.routing, routing, placement);
  const std::unique_ptr<Fabric> fabric = make_fabric(study, spec, placement, demand, options);
  CircuitBook book(study, placement, options.wiring, demand);
  const Execution execution =
      Executor(study, spec, placement, *fabric, demand, book).run(options.progress);

  FabricResult result;
  result.name = spec.name;
  result.kind = fabric_kind_name(spec.kind);
  result.iteration = iteration_end(execution);
  const auto path = critical_path(placement, execution);
  std::copy(path.begin(), path.end(), result.critical_path);
  result.all_to_all = path[static_cast<std::size_t>(Activity::kAllToAll)];
  result.exposed_switching = path[static_cast<std::size_t>(Activity::kSwitching)];
  for (const RegionTrace& region : execution.regions) {
    result.switches = std::max(result.switches, region.switches);
    result.switching_total = later_of(result.switching_total, region.switching);
  }
  result.traffic.tensor = tensor_bytes(study, placement, demand, execution);
  result.traffic.expert = execution.expert_bytes;
  result.traffic.expert_network = execution.expert_network_bytes;
  result.traffic.pipeline = pipeline_bytes(study, placement);
  for (int stage = 0; stage < placement.stages(); ++stage) {
    result.traffic.gradient += gradient_sync(study, placement, stage).bytes;
  }
  if (execution.all_to_all_count > 0) {
    result.mean_all_to_all = SimTime::from_seconds(execution.all_to_all_seconds /
                                                   static_cast<double>(execution.all_to_all_count));
  }
  record_region(study, *fabric, spec, demand, book, result);
  if (options.timeline) {
    record_timeline(study, spec, placement, demand, execution, result);
  }
  return result;
}

}  // namespace mixnet::sim
