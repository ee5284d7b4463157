#include "cli/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/expert_placement.h"
#include "cli/policies.h"
#include "core/check.h"
#include "plan/switching.h"
#include "scenario/prices.h"
#include "sim/iteration.h"

namespace mixnet::cli {
namespace {

FabricResult simulate(const scenario::Scenario& scenario, const FabricSpec& spec,
                      const RoutingView& routing, const CompareProgress& progress) {
  sim::IterationOptions options = iteration_policies(spec, scenario.study);
  options.timeline = spec.kind != FabricKind::kIdeal;
  if (progress) {
    options.progress = [&](int64_t done, int64_t total) { progress(spec.name, done, total); };
  }
  return sim::simulate_iterations(scenario.study, spec, routing, options);
}

void relate_switching(const Study& study, FabricResult& result) {
  // The first stage has as many layers as any.
  const int layers = (study.model.moe_layers() + study.parallelism.pp - 1) / study.parallelism.pp;
  const int64_t count = plan::all_to_alls_per_iteration(layers, study.parallelism.micro_batches);
  if (count > 0 && result.mean_all_to_all > SimTime()) {
    result.exposed_per_all_to_all =
        plan::exposed_per_all_to_all(result.exposed_switching, count, result.mean_all_to_all);
  }
}

// Performance per dollar against the first fat-tree of the run.
void rate_against_fat_tree(std::vector<FabricResult>& fabrics) {
  const auto base = std::find_if(fabrics.begin(), fabrics.end(), [](const FabricResult& f) {
    return f.kind == fabric_kind_name(FabricKind::kFatTree);
  });
  if (base == fabrics.end()) {
    return;
  }
  const double reference = base->iteration.seconds() * base->cost_usd;
  for (FabricResult& f : fabrics) {
    const double product = f.iteration.seconds() * f.cost_usd;
    f.perf_per_dollar = product > 0 ? reference / product : 0;
  }
}

// What a reader must know before quoting a figure.
std::vector<std::string> caveats(const Study& study, const RoutingView& routing,
                                 const std::vector<FabricResult>& fabrics) {
  std::vector<std::string> notes;
  notes.push_back(
      "Fluid network with ideal spraying: no loss, queueing or congestion control. Against packet "
      "simulation it ends 1.5 % early on skewed all-to-alls, 8-13 % on small ones and 20-24 % on "
      "permutations.");
  notes.push_back(
      "Not modelled: optimiser time, activation recomputation, GPU time taken by communication. "
      "An all-to-all starts when the slowest rank of its group is ready.");
  if (study.compute.measured.expert || study.compute.measured.attention) {
    notes.push_back("Compute times are measured ones: " + study.compute.measured.source);
    if (study.compute.measured.dispatch && study.compute.measured.combine) {
      notes.push_back(fmt::format(
          "The same measurement has all-to-alls of {:.0f} and {:.0f} ms; those here are simulated "
          "and take {:.1f} ms on {}.",
          study.compute.measured.dispatch->ms(), study.compute.measured.combine->ms(),
          fabrics.front().mean_all_to_all.ms(), fabrics.front().name));
    }
  } else {
    notes.push_back(fmt::format(
        "Compute times are FLOPs / (peak x {:.2f}); published measurements can be several times "
        "longer, which makes every network look faster.",
        study.compute.efficiency));
  }
  if (study.routing.repeat_layers && routing.layers < study.model.moe_layers()) {
    notes.push_back(fmt::format("All {} MoE layers use {} traced layer(s) of routing.",
                                study.model.moe_layers(), routing.layers));
  }
  if (!study.routing.per_micro_batch && study.parallelism.micro_batches > 1) {
    notes.push_back("All micro-batches of the iteration have the same routing.");
  }
  const bool circuits =
      std::any_of(study.fabrics.begin(), study.fabrics.end(),
                  [](const FabricSpec& spec) { return spec.kind == FabricKind::kMixnet; });
  if (circuits && study.routing.first_iteration == 0) {
    notes.push_back(
        "The routing has no earlier iteration: circuits that are set before the iteration are set "
        "for the very demand that they then meet.");
  }
  if (study.network.nics == NicUse::kPinned) {
    notes.push_back(
        "NICs are pinned to ranks on fat-trees and rails but pooled on fabrics with circuits.");
  }
  for (std::size_t i = 0; i < fabrics.size(); ++i) {
    const FabricSpec& spec = study.fabrics[i];
    if (spec.kind != FabricKind::kMixnet || spec.mixnet.cadence == Cadence::kOnce ||
        spec.mixnet.cadence == Cadence::kNever) {
      continue;
    }
    if (fabrics[i].switches == 0) {
      notes.push_back(spec.name +
                      ": no switch was needed, every wanted circuit was already there.");
    } else if (spec.mixnet.relink_time.mean == SimTime()) {
      notes.push_back(spec.name +
                      ": NIC re-link time is taken as 0, as the paper does; NICs of "
                      "today need seconds.");
    }
  }
  return notes;
}

FabricResult ideal_network(const scenario::Scenario& scenario, const RoutingView& routing,
                           const CompareProgress& progress) {
  FabricSpec ideal;
  ideal.kind = FabricKind::kIdeal;
  ideal.name = fabric_kind_name(ideal.kind);
  return simulate(scenario, ideal, routing, progress);
}

void set_bound(const FabricResult& bound, Comparison& comparison) {
  comparison.bound = bound.iteration;
  comparison.bound_iterations.clear();
  for (const IterationSample& sample : bound.iterations) {
    comparison.bound_iterations.push_back(sample.iteration);
  }
  std::copy(std::begin(bound.critical_path), std::end(bound.critical_path),
            std::begin(comparison.critical_path_bound));
}

// Experts that stand better compute sooner on any network, so that the bound may fall.
FabricResult simulate_placed(const scenario::Scenario& scenario, const FabricSpec& spec,
                             const PlacedRouting& placed, const CompareProgress& progress,
                             Comparison& comparison) {
  const FabricResult ideal = ideal_network(scenario, placed.view(), nullptr);
  FabricResult result = simulate(scenario, spec, placed.view(), progress);
  CHECK(result.iteration >= ideal.iteration, "no fabric beats the ideal network");
  if (ideal.iteration < comparison.bound) {
    set_bound(ideal, comparison);
  }
  result.placement = placed.result;
  return result;
}

// Before any simulation: what cannot be priced or computed should not surface after minutes of it.
Result<std::vector<double>> costs_of(const scenario::Scenario& scenario) {
  std::vector<double> costs;
  for (const FabricSpec& spec : scenario.study.fabrics) {
    const Result<scenario::FabricCost> cost =
        scenario::fabric_cost(spec, scenario.study.cluster, scenario.prices);
    if (!cost) {
      return cost.error();
    }
    costs.push_back(cost->total_usd());
    constexpr double kMostSeconds = 4e6;  // of the 9.2e6 that simulated time can hold
    const double longest = sim::longest_iteration_s(scenario.study, spec);
    if (!(longest < kMostSeconds)) {
      return Error{
          fmt::format("{}: one iteration could take {:.3g} s, beyond the range of simulated "
                      "time; lower micro_batches, micro_batch_size, sequence_length or the "
                      "times of switches and layers",
                      spec.name, longest),
          ""};
    }
  }
  return costs;
}

}  // namespace

Result<Comparison> compare(const scenario::Scenario& scenario, const RoutingView& routing,
                           const CompareProgress& progress) {
  const Result<std::vector<double>> costs = costs_of(scenario);
  if (!costs.ok()) {
    return costs.error();
  }
  Comparison comparison;
  bool foresight = false;
  const FabricResult bound = ideal_network(scenario, routing, progress);
  set_bound(bound, comparison);
  const double imbalance = expert_imbalance(scenario.study, routing);
  for (std::size_t i = 0; i < scenario.study.fabrics.size(); ++i) {
    const FabricSpec& spec = scenario.study.fabrics[i];
    FabricResult result;
    if (spec.placement == ExpertPlacement::kFixed) {
      result = simulate(scenario, spec, routing, progress);
      result.placement.imbalance = imbalance;
      CHECK(result.iteration >= bound.iteration, "no fabric beats the ideal network");
    } else {
      const Result<PlacedRouting> placed = place_experts(scenario.study, spec, routing);
      if (!placed.ok()) {
        return Error{spec.name + ": " + placed.error().message, ""};
      }
      result = simulate_placed(scenario, spec, *placed, progress, comparison);
      foresight = foresight || placed->foresight;
    }
    result.placement.policy = expert_placement_name(spec.placement);
    relate_switching(scenario.study, result);
    result.cost_usd = (*costs)[i];
    comparison.fabrics.push_back(std::move(result));
  }
  rate_against_fat_tree(comparison.fabrics);
  comparison.notes = caveats(scenario.study, routing, comparison.fabrics);
  if (foresight) {
    comparison.notes.push_back(
        "The routing has no earlier iteration: experts are placed for the very iteration that they "
        "then meet. Give `first_iteration` at least 1 to place them from the past.");
  }
  return comparison;
}

}  // namespace mixnet::cli
