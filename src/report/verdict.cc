#include "report/verdict.h"

#include <cmath>

#include "core/fabric_spec.h"
#include "report/format.h"

namespace mixnet::report {
namespace {

constexpr double kNoDifference = 0.01;

bool is_kind(const FabricResult& fabric, FabricKind kind) {
  return fabric.kind == fabric_kind_name(kind);
}

// The product that performance per dollar is the inverse of.
double dollar_seconds(const FabricResult& fabric) {
  return exact_seconds(fabric.iteration) * fabric.cost_usd;
}

const FabricResult* fastest(const std::vector<const FabricResult*>& fabrics) {
  const FabricResult* best = nullptr;
  for (const FabricResult* fabric : fabrics) {
    if (best == nullptr || fabric->iteration < best->iteration) {
      best = fabric;
    }
  }
  return best;
}

const FabricResult* best_value(const std::vector<const FabricResult*>& fabrics) {
  const FabricResult* best = nullptr;
  for (const FabricResult* fabric : fabrics) {
    if (fabric->cost_usd > 0 &&
        (best == nullptr || dollar_seconds(*fabric) < dollar_seconds(*best))) {
      best = fabric;
    }
  }
  return best;
}

// "9.810 s (1.024× the bound)"
std::string time_text(const FabricResult& fabric, SimTime bound) {
  std::string text = duration_text(fabric.iteration);
  if (bound.ps() > 0) {
    text += " (" + ratio_text(share_of(fabric.iteration, bound)) + "× the bound)";
  }
  return text;
}

// How a time compares: "12.0 % shorter than NAME", "within 1 % of NAME", "7.9× as long as NAME".
std::string against(SimTime time, SimTime reference, const std::string& name) {
  const double ratio = share_of(time, reference);
  if (std::abs(ratio - 1) < kNoDifference) {
    return "within 1 % of " + name;
  }
  if (ratio >= 2) {
    return significant(ratio, 2) + "× as long as " + name;
  }
  return percent_text(std::abs(ratio - 1)) + (ratio < 1 ? " shorter than " : " longer than ") +
         name;
}

std::string which_fabric(const std::vector<const FabricResult*>& candidates, SimTime bound) {
  const FabricResult* fast = fastest(candidates);
  const FabricResult* value = best_value(candidates);
  std::string text = "Which fabric: " + fast->name +
                     " has the shortest iteration of those compared, " + time_text(*fast, bound);
  if (value == nullptr) {
    return text + "; no fabric has a cost.";
  }
  if (value == fast) {
    return text + ", and the best performance per dollar.";
  }
  text += "; " + value->name + " has the best performance per dollar";
  if (fast->cost_usd > 0) {
    text += ", " + ratio_text(dollar_seconds(*fast) / dollar_seconds(*value)) + "× that of " +
            fast->name + " (iteration " + against(value->iteration, fast->iteration, fast->name) +
            ", network " + usd_text(value->cost_usd) + " against " + usd_text(fast->cost_usd) + ")";
  }
  return text + ".";
}

std::string switching_text(const FabricResult& fabric) {
  const std::size_t n = fabric.iterations.size();
  if (n > 1) {
    return duration_text(fabric.exposed_switching) +
           " of switching on the critical path of an iteration, mean of " + std::to_string(n) +
           "; one region switches " + significant(per_iteration(fabric.switches, fabric), 3) +
           " times in one, " + duration_text(fabric.switching_total) + " of its own";
  }
  return duration_text(fabric.exposed_switching) +
         " of switching on the critical path, which crosses the regions of all stages; one "
         "region switches " +
         std::to_string(fabric.switches) + (fabric.switches == 1 ? " time" : " times") + ", " +
         duration_text(fabric.switching_total) + " of its own";
}

std::string worth_of(const FabricResult& rewired, const FabricResult& wired_once) {
  const double gain = 1 - share_of(rewired.iteration, wired_once.iteration);
  const char* answer = "no";
  if (std::abs(gain) < kNoDifference) {
    answer = "no difference";
  } else if (gain > 0) {
    answer = "yes";
  }
  return "Is re-wiring worth it here: " + std::string(answer) + " for " + rewired.name +
         ", its iteration is " + against(rewired.iteration, wired_once.iteration, wired_once.name) +
         ", which is wired once (" + switching_text(rewired) + ").";
}

std::string worth_unknown(const FabricResult& rewired) {
  return "Is re-wiring worth it here: not answered for " + rewired.name +
         ", as no mixnet fabric wired once (cadence once) was compared (" +
         switching_text(rewired) +
         "; exposed: " + percent_text(share_of(rewired.exposed_switching, rewired.iteration)) +
         " of the iteration).";
}

}  // namespace

std::vector<std::string> verdict(const Comparison& comparison) {
  std::vector<const FabricResult*> candidates;
  std::vector<const FabricResult*> rewired;
  std::vector<const FabricResult*> wired_once;
  for (const FabricResult& fabric : comparison.fabrics) {
    if (is_kind(fabric, FabricKind::kIdeal)) {
      continue;
    }
    candidates.push_back(&fabric);
    if (is_kind(fabric, FabricKind::kMixnet)) {
      (fabric.switches > 0 ? rewired : wired_once).push_back(&fabric);
    }
  }
  std::vector<std::string> sentences;
  if (!candidates.empty()) {
    sentences.push_back(which_fabric(candidates, comparison.bound));
  }
  const FabricResult* reference = fastest(wired_once);
  for (const FabricResult* fabric : rewired) {
    sentences.push_back(reference == nullptr ? worth_unknown(*fabric)
                                             : worth_of(*fabric, *reference));
  }
  for (const FabricResult& fabric : comparison.fabrics) {
    if (!fabric.cadence_explanation.empty()) {
      sentences.push_back("What " + fabric.name + " decided: " + fabric.cadence_explanation);
    }
  }
  if (rewired.empty() && wired_once.size() > 1) {
    sentences.push_back(
        "Is re-wiring worth it here: there was nothing to re-wire, as every circuit that a layer "
        "wanted was already there.");
  }
  return sentences;
}

}  // namespace mixnet::report
