#pragma once

#include "core/study.h"
#include "sim/policies.h"

namespace mixnet::cli {

// Cadence "auto": a plan::CadenceController per region, which sees what the simulator shows it.
// Calls share state; one policy serves one run.
sim::CadencePolicy cadence_policy(const FabricSpec& spec, const Study& study);

// Scope "partial": the offer of plan::rewire_frontier() that pays, given how often the demand
// travels before the next decision and how long a change of that size is dark.
std::function<Matrix<int>(const sim::ChangeRequest&)> change_policy(const FabricSpec& spec,
                                                                    const Study& study);

}  // namespace mixnet::cli
