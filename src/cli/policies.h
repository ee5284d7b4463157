#pragma once

#include "core/study.h"
#include "sim/iteration.h"

// Where the simulator's questions meet the planner's answers.
namespace mixnet::cli {

sim::WiringPolicy wiring_policy(const FabricSpec& spec, const Cluster& cluster);
// The same for a region that has lost NICs.
sim::WiringAfterFailures wiring_after_failures(const FabricSpec& spec);
sim::TopologyPolicy topology_policy();

}  // namespace mixnet::cli
