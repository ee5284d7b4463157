#include "sim/critical_path.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::sim {
namespace {

Activity activity_of(const Step& step) {
  switch (step.kind) {
    case StepKind::kCompute:
      return step.activity;
    case StepKind::kAllToAll:
      return Activity::kAllToAll;
    case StepKind::kBeginSwitch:
    case StepKind::kAwaitSwitch:
      return Activity::kSwitching;
    case StepKind::kSend:
    case StepKind::kReceive:
      return Activity::kPipeline;
  }
  CHECK(false, "unknown step");
}

// The step of `program` that sends what `receive` waits for.
std::size_t sending_step(const std::vector<Step>& program, const Step& receive) {
  const auto it = std::find_if(program.begin(), program.end(), [&](const Step& s) {
    return s.kind == StepKind::kSend && s.backward == receive.backward &&
           s.micro_batch == receive.micro_batch;
  });
  CHECK(it != program.end(), "every message has a sender");
  return static_cast<std::size_t>(it - program.begin());
}

// Moves what switching took from a step on the path to it, cause by cause.
void charge_causes(const RegionTrace& trace, std::size_t step, Activity from, CriticalPath& path) {
  const auto it = std::lower_bound(
      trace.switching.begin(), trace.switching.end(), step,
      [](const RegionTrace::Switching& s, std::size_t wanted) { return s.step < wanted; });
  if (it == trace.switching.end() || it->step != step) {
    return;
  }
  for (std::size_t cause = 0; cause < it->causes.size(); ++cause) {
    path.causes[cause] += it->causes[cause];
    path.activities[static_cast<std::size_t>(from)] -= it->causes[cause];
    path.activities[static_cast<std::size_t>(Activity::kSwitching)] += it->causes[cause];
  }
}

}  // namespace

SimTime iteration_end(const Execution& execution) {
  SimTime end;
  for (const StageTrace& stage : execution.stages) {
    end = later_of(end, stage.end);
  }
  return end;
}

CriticalPath critical_path(const Placement& placement, const Execution& execution) {
  CriticalPath path;
  const auto charge = [&](Activity activity, SimTime from, SimTime to) {
    path.activities[static_cast<std::size_t>(activity)] += to - from;
  };
  const auto last =
      std::max_element(execution.stages.begin(), execution.stages.end(),
                       [](const StageTrace& a, const StageTrace& b) { return a.end < b.end; });
  charge(Activity::kGradient, last->ready, last->end);

  int region = last->last_region;
  SimTime now = last->ready;
  std::size_t at = execution.regions[static_cast<std::size_t>(region)].end.size();
  while (at > 0) {
    --at;
    const RegionTrace& trace = execution.regions[static_cast<std::size_t>(region)];
    const int stage = placement.stage_of(region);
    const Step& step = execution.programs[static_cast<std::size_t>(stage)][at];
    const SimTime before = at > 0 ? trace.end[at - 1] : SimTime();
    if (step.kind == StepKind::kReceive && trace.arrival[at] > before) {
      // Waited for the neighbour: go on there, from the moment it sent.
      const int other = stage + (step.backward ? 1 : -1);
      region = placement.region(other, placement.copy_of(region));
      at = sending_step(execution.programs[static_cast<std::size_t>(other)], step);
      const SimTime sent = execution.regions[static_cast<std::size_t>(region)].end[at];
      charge(Activity::kPipeline, sent, now);
      now = sent;
      continue;
    }
    charge(activity_of(step), before, now);
    if (step.kind == StepKind::kAwaitSwitch || step.kind == StepKind::kAllToAll) {
      charge_causes(trace, at, activity_of(step), path);
    }
    now = before;
  }
  return path;
}

}  // namespace mixnet::sim
