#pragma once

#include <cstdint>
#include <vector>

#include "core/comparison.h"
#include "core/fabric_spec.h"
#include "core/moe_model.h"

// What one region (an expert-parallel group) does in one iteration, in order. Its ranks run in
// step: every MoE layer ends in an all-to-all that all of them enter and leave together, so the
// slowest rank sets the pace.
namespace mixnet::sim {

enum class StepKind : uint8_t {
  kCompute,      // takes the time of its activity on the slowest rank
  kAllToAll,     // messages between the ranks of the region
  kBeginSwitch,  // starts re-wiring; takes no time itself
  kAwaitSwitch,  // waits until circuits and NICs are up
  kSend,         // starts the point-to-point transfer to the neighbour stage; does not wait
  kReceive,      // waits for the neighbour's transfer
};

// What a re-wiring aims at.
enum class SwitchTarget : uint8_t {
  kExact,      // the layer's own demand, known after its gate
  kPredicted,  // the last demand of the layer that was seen
  kStage,      // the summed demand that all layers of the stage will have in this iteration
  kPass,       // that of a micro-batch's pass: backward the exact one, forward as seen last
};

struct Step {
  StepKind kind = StepKind::kCompute;
  Activity activity = Activity::kAttention;    // kCompute
  SwitchTarget target = SwitchTarget::kExact;  // kBeginSwitch
  Cadence cadence = Cadence::kNever;           // kBeginSwitch: the cadence that asks for it
  bool backward = false;
  bool experts = false;  // kCompute kTensor: the all-reduce beside the experts
  // kAllToAll and the kAwaitSwitch before it: moves the transpose of the dispatch demand.
  bool transposed = false;
  int layer = -1;  // of the model
  int micro_batch = -1;
};

// Consecutive blocks of the model that one pipeline stage holds.
struct StageLayers {
  int first = 0;
  int count = 0;
};
// Blocks are spread evenly; the first stages take one more when they do not divide.
StageLayers stage_layers(const MoeModel& model, int stages, int stage);

// Index of MoE layer `layer` among the MoE layers, -1 for a dense block.
int moe_index(const MoeModel& model, int layer);

// MoE layers that a stage holds, by that index, ascending.
std::vector<int> moe_layers_of(const MoeModel& model, int stages, int stage);

// Switching of the region, if its fabric has circuits.
struct SwitchPlan {
  bool enabled = false;
  Cadence cadence = Cadence::kOnce;  // kAuto: the steps of kStage and kLayer, to choose from
  DispatchMode dispatch = DispatchMode::kBlock;
};

// The steps of one stage under the one-forward-one-backward schedule (Narayanan et al., SC'21).
std::vector<Step> build_program(const MoeModel& model, const Parallelism& layout, int stage,
                                const SwitchPlan& switching);

}  // namespace mixnet::sim
