#include "sim/iteration.h"

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/workload.h"
#include "sim/critical_path.h"
#include "sim/executor.h"
#include "sim/region_controllers.h"
#include "sim/run_totals.h"
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

// One fabric's run.
class Run {
 public:
  Run(const Study& study, const FabricSpec& spec, const RoutingView& routing,
      const IterationOptions& options)
      : study_(study),
        spec_(spec),
        routing_(routing),
        options_(options),
        placement_(study.parallelism, study.cluster),
        controllers_(study_, spec_, placement_, options_.cadence) {
    for (int stage = 0; stage < placement_.stages(); ++stage) {
      gradient_bytes_ += gradient_sync(study, placement_, stage).bytes;
    }
  }

  // Simulates the next iteration; the first one also fills the pictures of `result`.
  void iterate(int64_t i, FabricResult& result) {
    RoutingUse use = study_.routing;
    const int64_t steps = use.per_micro_batch ? study_.parallelism.micro_batches : 1;
    use.first_iteration += i * steps;
    // What an iteration decides is dropped with it, so memory does not grow.
    DemandTable demand(study_.model, study_.parallelism, use, routing_, placement_);
    if (i == 0) {
      fabric_ = make_fabric(study_, spec_, placement_, demand, options_);
    }
    CircuitBooks books(study_, spec_, placement_,
                       {{options_.wiring, options_.predict}, options_.wiring_after}, demand);
    if (fabric_->has_circuits()) {
      controllers_.begin(i, demand, books);
      if (i == 0) {
        result.region_circuits = controllers_.controls().front().circuits.wanted();
      }
    }
    const Setting setting{study_, spec_, placement_, *fabric_, demand, books};
    const Execution execution = Executor(setting, controllers_.controls()).run(progress_of(i));
    record(execution, demand);
    if (i == 0) {
      record_region(demand, books.of(0), result);
      if (options_.timeline) {
        record_timeline(study_, spec_, placement_, demand, execution, result);
      }
    }
    controllers_.end(iteration_end(execution));
  }

  void finish(FabricResult& result) const {
    totals_.fill(result);
    result.cadence_explanation = controllers_.explanation();
  }

 private:
  std::function<void(int64_t, int64_t)> progress_of(int64_t i) const {
    if (!options_.progress) {
      return nullptr;
    }
    return [this, i](int64_t done, int64_t total) {
      options_.progress(i * total + done, study_.run.iterations * total);
    };
  }

  void record(const Execution& execution, DemandTable& demand) {
    const CriticalPath path = critical_path(placement_, execution);
    IterationSample sample;
    sample.iteration = iteration_end(execution);
    sample.all_to_all = path.activities[static_cast<std::size_t>(Activity::kAllToAll)];
    sample.exposed_switching = path.activities[static_cast<std::size_t>(Activity::kSwitching)];
    SimTime dark;
    for (const RegionControl& control : controllers_.controls()) {
      const SwitchTally& tally = control.circuits.tally();
      sample.switches = std::max(sample.switches, tally.commands);
      sample.changed_circuits = std::max(sample.changed_circuits, tally.circuits);
      dark = later_of(dark, tally.dark);
    }
    totals_.add(sample, path, dark);
    totals_.add_all_to_alls(execution.all_to_all_seconds, execution.all_to_all_count);
    totals_.add_traffic({tensor_bytes(study_, placement_, demand, execution),
                         execution.expert_bytes, execution.expert_network_bytes,
                         pipeline_bytes(study_, placement_), gradient_bytes_});
  }

  // The first MoE layer of the first region, as demand and circuits for the pictures: what a
  // re-wiring for it aims at, else what the region starts on.
  void record_region(DemandTable& demand, CircuitBook& book, FabricResult& result) const {
    const std::vector<int> layers = moe_layers_of(study_.model, study_.parallelism.pp, 0);
    if (layers.empty()) {
      result.region_circuits = Matrix<int>();
      return;
    }
    const DemandKey key = demand.key(0, layers.front(), 0);
    result.region_demand = demand.at(key).servers;
    if (!fabric_->has_circuits()) {
      return;
    }
    if (spec_.mixnet.cadence == Cadence::kLayer && spec_.mixnet.scope == ChangeScope::kWhole) {
      result.region_circuits = book.circuits(book.wired(book.layer(key)));
    } else if (spec_.mixnet.cadence == Cadence::kIteration) {
      const TargetId now = book.stage(0, 0, CircuitBook::When::kNow);
      result.region_circuits = book.circuits(book.wired(now));
    }
  }

  const Study& study_;
  const FabricSpec& spec_;
  const RoutingView& routing_;
  const IterationOptions& options_;
  Placement placement_;
  RegionControllers controllers_;
  std::unique_ptr<Fabric> fabric_;
  RunTotals totals_;
  Bytes gradient_bytes_;
};

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
  const double dark = (longest_delay(fabric.mixnet.switch_time) +
                       longest_delay(fabric.mixnet.relink_time) + fabric.mixnet.control_delay)
                          .seconds();
  const double layer = (1 + study.compute.backward_factor) * compute + 4 * exchange + 4 * dark;
  return layer * (study.model.layers + 2.0) * (p.micro_batches + p.pp);
}

FabricResult simulate_iterations(const Study& study, const FabricSpec& spec,
                                 const RoutingView& routing, const IterationOptions& options) {
  FabricResult result;
  result.name = spec.name;
  result.kind = fabric_kind_name(spec.kind);
  Run run(study, spec, routing, options);
  for (int64_t i = 0; i < study.run.iterations; ++i) {
    run.iterate(i, result);
  }
  run.finish(result);
  return result;
}

}  // namespace mixnet::sim
