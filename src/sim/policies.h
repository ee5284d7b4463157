#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/cadence.h"
#include "core/matrix.h"
#include "core/units.h"
#include "core/wiring.h"

// The decisions that the simulator asks for. The caller joins them to the planner; the simulator
// hands over what a region may know by then and nothing later.
namespace mixnet::sim {

// A partial change: which circuits to have for a demand, given the present ones.
struct ChangeRequest {
  const DemandMatrix& demand;  // between the servers of the region
  const Matrix<int>& present;  // asked for last, perhaps not up yet
  double uses = 0;             // how often the demand travels before the next decision
};

// All pure.
struct WiringPolicy {
  // Circuits and shares for a demand between the servers of a region.
  std::function<Wiring(const DemandMatrix&)> wire;
  // Shares of a demand over circuits that are already there.
  std::function<Wiring(const DemandMatrix&, const Matrix<int>&)> route;
  // ChangeScope::kPartial only.
  std::function<Matrix<int>(const ChangeRequest&)> change = nullptr;
};

// A forward dispatch that is about to be predicted: MoE layer `layer` of the model at routing step
// `step` of the trace.
struct PredictionRequest {
  int64_t step = 0;
  int64_t layer = 0;
  int copy = 0;  // regions of equal routing are asked once, as the first of them
  // Assignments that the region has seen, expert ranks x experts: every layer of its stage at an
  // earlier step, and the layers before `layer` at this one. Nothing for any other.
  std::function<std::optional<DemandMatrix>(int64_t step, int64_t layer)> seen;
};

// Assignments, expert ranks x experts. Asked in any order of copies, in order of (step, layer)
// within one and a stage; regions of equal routing that have lost NICs ask once more, at most an
// iteration behind. Without a policy everything is expected to be as it was last.
using PredictPolicy = std::function<DemandMatrix(const PredictionRequest&)>;

// What a region knows before an iteration.
struct CadenceQuestion {
  int region = 0;
  int64_t iteration = 0;        // of the run, from 0
  const Matrix<int>& circuits;  // asked for last, perhaps not up yet
  SimTime up_in;                // until the last of them is up, from the iteration's start
  // Tokens from server to server in a dispatch of the iteration before: [routing step][MoE layer
  // of the stage]. There is one step unless micro-batches have routing of their own. Before
  // iteration 0: the last step of the trace before it, nothing if there is none.
  std::vector<std::vector<DemandMatrix>> seen;
  int micro_batches = 1;  // each layer of each has two all-to-alls forward and two backward
  SimTime attention;      // from the start of a layer's forward pass to its dispatch
  SimTime experts;        // from a forward dispatch to its combine, mean of what was seen
  SimTime backward;       // from the backward pass of one layer's all-to-alls to the next layer's
  // What the iteration before took, and the part of it in which this region neither was in an
  // all-to-all nor waited for circuits. Both are 0 before iteration 0.
  SimTime last_iteration;
  SimTime other;
};

struct CadenceAnswer {
  enum class Mode : uint8_t {
    kHold,   // leave the circuits alone
    kNow,    // ask for `circuits` at the start of the iteration
    kStage,  // per pass of a micro-batch, as Cadence::kStage
    kLayer,  // per layer, as Cadence::kLayer
  };
  Mode mode = Mode::kHold;
  Matrix<int> circuits;                     // kNow only: symmetric, at most alpha per server
  ChangeScope scope = ChangeScope::kWhole;  // of kStage and kLayer
  Darkness darkness = Darkness::kBlock;     // until the next answer that does not hold
  std::string explanation;  // one paragraph; the last one of the first region is reported
};

// Asked for every region before every iteration, in order of iterations.
using CadencePolicy = std::function<CadenceAnswer(const CadenceQuestion&)>;

}  // namespace mixnet::sim
