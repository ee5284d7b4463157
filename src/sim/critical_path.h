#pragma once

#include <array>

#include "core/comparison.h"
#include "sim/executor.h"

namespace mixnet::sim {

// Time on the critical path by activity: starting from what ended last, each moment is charged to
// the step that the iteration waited for then. The parts add up to the iteration.
std::array<SimTime, kActivityCount> critical_path(const Placement& placement,
                                                  const Execution& execution);

// When the last stage has its gradients.
SimTime iteration_end(const Execution& execution);

}  // namespace mixnet::sim
