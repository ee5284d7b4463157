#include "cli/cadence_policy.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/workload.h"
#include "plan/cadence.h"
#include "plan/rewire.h"
#include "plan/wire.h"

namespace mixnet::cli {
namespace {

plan::Region region_of(const FabricSpec& spec, const Study& study) {
  const auto token = static_cast<double>(assignment_bytes(study.model, study.compute).count());
  return {spec.mixnet.alpha, study.cluster.nics_per_server - spec.mixnet.alpha,
          spec.mixnet.allocator, token / study.cluster.nic_rate.bytes_per_second()};
}

plan::SwitchDevice device_of(const FabricSpec& spec) {
  return {spec.mixnet.switch_time, SimTime(), spec.mixnet.relink_time};
}

// What the simulator showed of the last iteration, as the planner wants it.
plan::IterationLoad load_of(const sim::CadenceQuestion& q, DispatchMode dispatch) {
  plan::IterationLoad load;
  load.layers = static_cast<int>(q.seen.front().size());
  load.micro_batches = q.micro_batches;
  for (const std::vector<DemandMatrix>& step : q.seen) {
    load.demand.insert(load.demand.end(), step.begin(), step.end());
  }
  load.iteration_window = q.attention;
  load.pass_window = q.attention;
  load.layer_switches = plan::layer_switches(dispatch, q.attention, q.experts, q.backward);
  // Forward and twice as long backward, where no iteration has been measured yet.
  load.other = q.last_iteration > SimTime()
                   ? q.other
                   : (q.attention + q.experts) * (3LL * load.layers * q.micro_batches);
  return load;
}

sim::CadenceAnswer answer_of(const plan::CadenceDecision& decision) {
  sim::CadenceAnswer answer;
  switch (decision.mode) {
    case plan::CadenceMode::kHold:
      answer.mode = sim::CadenceAnswer::Mode::kHold;
      break;
    case plan::CadenceMode::kRewire:
      answer.mode = sim::CadenceAnswer::Mode::kNow;
      break;
    case plan::CadenceMode::kStage:
      answer.mode = sim::CadenceAnswer::Mode::kStage;
      break;
    case plan::CadenceMode::kLayer:
      answer.mode = sim::CadenceAnswer::Mode::kLayer;
      break;
  }
  answer.circuits = decision.circuits;
  answer.scope = decision.scope;
  answer.darkness = decision.darkness;
  answer.explanation = decision.explanation;
  return answer;
}

}  // namespace

sim::CadencePolicy cadence_policy(const FabricSpec& spec, const Study& study) {
  const plan::Region region = region_of(spec, study);
  const auto controllers = std::make_shared<std::map<int, plan::CadenceController>>();
  return [=](const sim::CadenceQuestion& q) {
    const auto it = controllers->try_emplace(q.region, region, device_of(spec)).first;
    if (q.seen.empty() || q.seen.front().empty()) {
      return sim::CadenceAnswer{};
    }
    it->second.observe(load_of(q, spec.mixnet.dispatch), q.circuits);
    return answer_of(it->second.decide());
  };
}

std::function<Matrix<int>(const sim::ChangeRequest&)> change_policy(const FabricSpec& spec,
                                                                    const Study& study) {
  const plan::Region region = region_of(spec, study);
  const auto dark = std::make_shared<plan::DarkTimes>(device_of(spec));
  const bool detour = spec.mixnet.darkness == Darkness::kDetour;
  return [=](const sim::ChangeRequest& request) {
    const plan::WireProblem problem{request.demand, region.alpha, region.eps};
    const Matrix<int> fresh = plan::circuits_for(region, request.demand);
    const std::vector<plan::RewireOption> frontier =
        plan::rewire_frontier(problem, request.present, fresh, region.allocator);
    std::vector<double> cost;
    for (const plan::RewireOption& option : frontier) {
      const double dark_s = dark->mean_s(option.changed);
      const double loss_s =
          detour ? plan::detour_loss_s(dark_s, 0, option.dark_completion, option.completion)
                 : dark_s;
      cost.push_back(loss_s / region.seconds_per_unit);
    }
    return frontier[plan::best_rewire(frontier, cost, request.uses)].circuits;
  };
}

}  // namespace mixnet::cli
