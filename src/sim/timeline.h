#pragma once

#include "core/comparison.h"
#include "sim/executor.h"

namespace mixnet::sim {

// Fills lanes and spans of `result` with what region 0 does: one lane for the region over the
// whole iteration, and for its first micro-batch (forward and backward) one lane per GPU and NIC.
void record_timeline(const Study& study, const FabricSpec& spec, const Placement& placement,
                     DemandTable& demand, const Execution& execution, FabricResult& result);

}  // namespace mixnet::sim
