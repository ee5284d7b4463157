#include "sim/region_controllers.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "sim/critical_path.h"

namespace mixnet::sim {

RegionControllers::RegionControllers(const Study& study, const FabricSpec& spec,
                                     const Placement& placement, const CadencePolicy& policy)
    : study_(study), spec_(spec), placement_(placement), policy_(policy), times_(study) {
  CHECK(spec.mixnet.cadence != Cadence::kAuto || policy, "cadence auto needs a policy");
}

// A region starts on circuits for what its stage was last seen to send, or for anything.
Matrix<int> RegionControllers::first_circuits(int region, CircuitBooks& books) const {
  const TargetId target =
      spec_.mixnet.cadence == Cadence::kNever
          ? books.of(region).uniform()
          : books.of(region).stage(placement_.stage_of(region), placement_.copy_of(region),
                                   CircuitBook::When::kBefore);
  return books.of(region).circuits(books.of(region).wired(target));
}

void RegionControllers::begin(int64_t iteration, DemandTable& demand, CircuitBooks& books) {
  for (int region = 0; region < placement_.regions(); ++region) {
    const std::string stream =
        "switching/" + spec_.name + "/" + std::to_string(region) + "/" + std::to_string(iteration);
    RandomStream random(study_.run.seed, stream);
    if (iteration == 0) {
      controls_.push_back({RegionCircuits(first_circuits(region, books)), random,
                           spec_.mixnet.cadence, spec_.mixnet.scope, spec_.mixnet.darkness});
    }
    controls_[static_cast<std::size_t>(region)].random = random;
    decide(region, iteration, demand, books);
  }
}

void RegionControllers::decide(int region, int64_t iteration, DemandTable& demand,
                               CircuitBooks& books) {
  if (spec_.mixnet.cadence == Cadence::kAuto) {
    ask(region, iteration, demand);
    return;
  }
  if (spec_.mixnet.cadence != Cadence::kEvery || iteration == 0 ||
      iteration % spec_.mixnet.every != 0) {
    return;
  }
  const TargetId seen = books.of(region).stage(
      placement_.stage_of(region), placement_.copy_of(region), CircuitBook::When::kBefore);
  if (spec_.mixnet.scope == ChangeScope::kPartial) {
    // Every layer's demand is in the sum in both directions and travels forward and backward.
    const RegionControl& control = controls_[static_cast<std::size_t>(region)];
    const double uses = 2.0 * spec_.mixnet.every *
                        static_cast<double>(study_.parallelism.micro_batches / demand.steps());
    install(region, books.of(region).circuits(books.of(region).changed(
                        seen, books.of(region).intern(control.circuits.wanted()), uses)));
    return;
  }
  install(region, books.of(region).circuits(books.of(region).wired(seen)));
}

void RegionControllers::install(int region, const Matrix<int>& circuits) {
  RegionControl& control = controls_[static_cast<std::size_t>(region)];
  control.circuits.request(circuits, SimTime(), spec_.mixnet, control.random);
}

CadenceQuestion RegionControllers::question(int region, int64_t iteration,
                                            DemandTable& demand) const {
  const RegionCircuits& circuits = controls_[static_cast<std::size_t>(region)].circuits;
  CadenceQuestion q{.region = region,
                    .iteration = iteration,
                    .circuits = circuits.wanted(),
                    .up_in = circuits.all_up(),
                    .seen = {},
                    .micro_batches = study_.parallelism.micro_batches,
                    .attention = SimTime(),
                    .experts = SimTime(),
                    .backward = SimTime(),
                    .last_iteration = last_iteration_,
                    .other = SimTime()};
  if (!other_.empty()) {
    q.other = other_[static_cast<std::size_t>(region)];
  }
  const int stage = placement_.stage_of(region);
  const std::vector<int> layers = moe_layers_of(study_.model, study_.parallelism.pp, stage);
  const int64_t first = demand.first_step();
  const int64_t steps = std::min(first, iteration == 0 ? 1 : demand.steps());
  double slowest = 0;
  for (int64_t step = first - steps; step < first; ++step) {
    q.seen.emplace_back();
    for (const int layer : layers) {
      const Demand& d = demand.at(demand.key_at(step, layer, placement_.copy_of(region)));
      q.seen.back().push_back(d.servers);
      slowest += d.slowest_rank;
    }
  }
  Step step;
  step.layer = study_.model.layers - 1;
  const auto time = [&](Activity activity, bool experts, double assignments) {
    step.activity = activity;
    step.experts = experts;
    return times_.compute(step, assignments);
  };
  q.attention = time(Activity::kAttention, false, 0) + time(Activity::kTensor, false, 0) +
                time(Activity::kGate, false, 0);
  step.backward = true;
  q.backward = time(Activity::kGate, false, 0) + time(Activity::kTensor, false, 0) +
               time(Activity::kAttention, false, 0) + time(Activity::kAddNorm, false, 0);
  step.backward = false;
  if (!q.seen.empty() && !layers.empty()) {
    slowest /= static_cast<double>(steps) * static_cast<double>(layers.size());
    q.experts = time(Activity::kExpert, false, slowest) + time(Activity::kTensor, true, slowest);
  }
  return q;
}

void RegionControllers::ask(int region, int64_t iteration, DemandTable& demand) {
  const CadenceAnswer answer = policy_(question(region, iteration, demand));
  RegionControl& control = controls_[static_cast<std::size_t>(region)];
  control.cadence = Cadence::kNever;
  if (answer.mode != CadenceAnswer::Mode::kHold) {
    // Who holds says nothing about circuits that are dark from a change before.
    control.scope = answer.scope;
    control.darkness = answer.darkness;
  }
  switch (answer.mode) {
    case CadenceAnswer::Mode::kHold:
      break;
    case CadenceAnswer::Mode::kNow:
      install(region, answer.circuits);
      break;
    case CadenceAnswer::Mode::kStage:
      control.cadence = Cadence::kStage;
      break;
    case CadenceAnswer::Mode::kLayer:
      control.cadence = Cadence::kLayer;
      break;
  }
  if (region == 0) {
    explanation_ = answer.explanation;
  }
}

void RegionControllers::end(const Execution& execution) {
  last_iteration_ = iteration_end(execution);
  other_.assign(controls_.size(), last_iteration_);
  for (std::size_t region = 0; region < controls_.size(); ++region) {
    controls_[region].circuits.next_iteration(last_iteration_);
    const std::vector<SimTime>& end = execution.regions[region].end;
    const int stage = placement_.stage_of(static_cast<int>(region));
    const std::vector<Step>& steps = execution.programs[static_cast<std::size_t>(stage)];
    for (std::size_t s = 1; s < steps.size(); ++s) {
      if (steps[s].kind == StepKind::kAllToAll || steps[s].kind == StepKind::kAwaitSwitch) {
        other_[region] -= end[s] - end[s - 1];
      }
    }
  }
}

}  // namespace mixnet::sim
