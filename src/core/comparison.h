#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/units.h"

namespace mixnet {

// What a piece of simulated time was spent on.
enum class Activity {
  kAttention,
  kGate,
  kExpert,
  kAddNorm,
  kDense,   // dense FFN blocks, embedding and output head
  kTensor,  // tensor-parallel all-reduce
  kAllToAll,
  kSwitching,  // waiting for circuits, and the longer way around them: all of SwitchCause
  kPipeline,   // point-to-point between stages
  kGradient,   // data-parallel all-reduce
};
inline constexpr int kActivityCount = 10;
const char* activity_name(Activity activity);

// Why an iteration waits for circuits, or takes longer without them.
enum class SwitchCause {
  kOcs,      // the optical switch is moving, or busy with the command before
  kNic,      // NICs of changed circuits are linking again
  kControl,  // the demand is known, the command is not out yet
  kDetour,   // an all-to-all takes longer over what is up than it would over the wanted circuits
};
inline constexpr int kSwitchCauseCount = 4;
const char* switch_cause_name(SwitchCause cause);

// One bar of the timeline.
struct TimelineSpan {
  int lane = 0;  // index into FabricResult::lanes
  Activity activity = Activity::kAttention;
  std::string label;  // "dispatch L3 mb2"
  SimTime start;
  SimTime duration;
};

// A lane is a GPU ("server 0 / gpu 3") or a NIC ("server 0 / ocs nic 2") of the traced region.
struct TimelineLane {
  std::string group;  // "server 0"
  std::string name;   // "gpu 3", "eps nic 0"
};

// Network bytes of one iteration over the whole cluster, per kind of parallelism.
struct TrafficBytes {
  Bytes tensor;          // on NVLink
  Bytes expert;          // both all-to-alls, forward and backward, between servers and inside them
  Bytes expert_network;  // the part of `expert` that leaves a server
  Bytes pipeline;
  Bytes gradient;
};

// One of several simulated iterations.
struct IterationSample {
  SimTime iteration;
  SimTime all_to_all;
  SimTime exposed_switching;
  int64_t switches = 0;          // commands of the busiest region
  int64_t changed_circuits = 0;  // set up anew by the region that changed most
};

// How well experts were placed, and what that took.
struct PlacementResult {
  std::string policy = "fixed";  // "fixed", "eplb", ...
  double imbalance = 1;  // assignments of the busiest expert rank over the mean, over all layers,
                         // copies and iterations
  int64_t plans = 0;     // times that a layer was planned
  int64_t moved = 0;     // experts that changed their rank, in one copy of the job
  Bytes moved_bytes;     // of all copies, with their optimizer state
  // Least time to move them, all plans together: the busiest links at their rate, layers of a
  // pipeline stage one after another. Not part of the iteration.
  SimTime moving;
};

// One fabric of a comparison. Times and bytes are means over the simulated iterations unless they
// say otherwise; pictures show the first one.
struct FabricResult {
  std::string name;
  std::string kind;
  SimTime iteration;
  SimTime all_to_all;         // on the critical path, occupied by all-to-alls alone
  SimTime exposed_switching;  // on the critical path, waiting for circuits or NICs, or on detours
  SimTime exposed_by_cause[kSwitchCauseCount];  // by SwitchCause, sums to `exposed_switching`
  SimTime switching_total;  // over the switches of one region and iteration, hidden ones included
  int64_t switches = 0;     // of the busiest region, over all iterations
  std::vector<IterationSample> iterations;
  SimTime iteration_p50;  // sorted[floor(q n)], q = 0.5 and 0.99
  SimTime iteration_p99;
  PlacementResult placement;
  std::string cadence_explanation;  // why the controller did what it did; cadence auto only
  double cost_usd = 0;
  double perf_per_dollar = 0;  // relative to fat-tree of the same run; 0 if there is none
  SimTime critical_path[kActivityCount];  // by Activity, sums to `iteration`
  TrafficBytes traffic;
  SimTime mean_all_to_all;      // duration of one all-to-all
  DemandMatrix region_demand;   // tokens between the servers of the traced region, one layer
  Matrix<int> region_circuits;  // of that layer; empty without circuits
  // Exposed switching over the time of the all-to-alls of one region (4 per MoE layer and
  // micro-batch); 0 without all-to-alls.
  double exposed_per_all_to_all = 0;
  std::vector<TimelineLane> lanes;
  std::vector<TimelineSpan> spans;
};

// A whole `compare` run.
struct Comparison {
  SimTime bound;  // iteration on the ideal network, mean
  std::vector<SimTime> bound_iterations;
  SimTime critical_path_bound[kActivityCount];
  std::vector<FabricResult> fabrics;
  std::vector<std::string> notes;  // what the figures leave out, in sentences
};

}  // namespace mixnet
