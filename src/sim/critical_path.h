#pragma once

#include <array>

#include "core/comparison.h"
#include "sim/executor.h"

namespace mixnet::sim {

// Time on the critical path by activity: starting from what ended last, each moment is charged to
// the step that the iteration waited for then. The parts add up to the iteration, the causes to the
// part of switching: waits for circuits, and what all-to-alls lose on detours.
struct CriticalPath {
  std::array<SimTime, kActivityCount> activities{};
  CauseTimes causes{};
};
CriticalPath critical_path(const Placement& placement, const Execution& execution);

// When the last stage has its gradients.
SimTime iteration_end(const Execution& execution);

}  // namespace mixnet::sim
