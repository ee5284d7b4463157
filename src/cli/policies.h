#pragma once

#include "core/study.h"
#include "sim/iteration.h"

// Where the simulator's questions meet the planner's answers.
namespace mixnet::cli {

// Every policy that a simulation of this fabric asks; for one run, since cadence "auto" and
// predictors learn.
sim::IterationOptions iteration_policies(const FabricSpec& spec, const Study& study);

}  // namespace mixnet::cli
