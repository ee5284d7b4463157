#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cadence.h"
#include "core/fabric_spec.h"
#include "core/matrix.h"
#include "core/units.h"
#include "plan/delay.h"
#include "plan/nic_counts.h"

// What the circuits of a region, and changing them, cost one training iteration.
//
// The region runs `layers` MoE layers and `micro_batches` micro-batches with `all_to_alls`
// all-to-alls each (4: dispatch and combine, forward and backward). Their demands are the same up
// to transposition, and duplex circuits serve a matrix and its transpose alike, so one matrix per
// layer and micro-batch says everything. Circuits that stay for the whole iteration make it take
//   A(C) = all_to_alls * sum over layers and micro-batches of completion(D, C) * seconds_per_unit
// on top of `other`.
//
// A change that starts when a window W opens sticks out of it by
//   X = E max(0, T_OCS(circuits changed) + slowest of the re-linked NICs - W).
// Blocking costs X. With a detour traffic runs over what stays meanwhile, so that X seconds do the
// work of X (other + A(new)) / (other + A(stays)) seconds: the loss is
//   X (A(stays) - A(new)) / (other + A(stays)), and never more than X.
// MixNet (SIGCOMM 2025), section 5.1 and appendices B.2 and C.
namespace mixnet::plan {

// The optical side of one region and what demand means in it.
struct Region {
  NicCounts alpha = 0;  // optical NICs per server
  NicCounts eps = 0;    // electrical NICs per server
  Allocator allocator = Allocator::kSplit;
  double seconds_per_unit = 1;  // that one NIC needs for one unit of demand; > 0
};

// What is known when a re-wiring inside a layer starts.
enum class Foresight : uint8_t {
  kExact,  // the demand of this very all-to-all: after the gate
  kLast,   // the demand of the layer in the last iteration, as a prediction
  kNone,   // nothing: no switch, the circuits of the layer before serve on
};

// One re-wiring inside a layer and micro-batch, under Cadence::kLayer.
struct LayerSwitch {
  SimTime window;  // in which nobody needs the circuits
  int serves = 2;  // all-to-alls until the next one
  Foresight foresight = Foresight::kExact;
  bool first = true;  // of its pass: finds the circuits of another layer, else those of the switch
                      // before it
};

// The three dispatch modes of MixNet: all-to-alls 1 (forward dispatch), 2 (combine), 3 and 4
// (backward). `attention`, `experts`: forward compute before the dispatch and before the combine;
// `backward`: before the first all-to-all of the backward pass, whose demand is known long before.
std::vector<LayerSwitch> layer_switches(DispatchMode mode, SimTime attention, SimTime experts,
                                        SimTime backward);

// One iteration of a region as it was measured.
struct IterationLoad {
  int layers = 0;
  int64_t micro_batches = 1;
  // n x n, of one all-to-all, [micro-batch][layer], or [layer] if the micro-batches are alike.
  std::vector<DemandMatrix> demand;
  int all_to_alls = 4;       // per layer and micro-batch
  SimTime other;             // of the iteration, neither all-to-all nor waiting for a switch
  SimTime iteration_window;  // without need of the circuits between two iterations
  SimTime pass_window;       // before a pass of a micro-batch through the stage
  std::vector<LayerSwitch> layer_switches;  // empty: re-wiring inside a layer is not possible

  std::size_t rows() const {
    return layers > 0 ? demand.size() / static_cast<std::size_t>(layers) : 0;
  }
  // How often each matrix of `demand` is sent.
  double repeats() const {
    return static_cast<double>(all_to_alls) * static_cast<double>(micro_batches) /
           static_cast<double>(rows());
  }
};

// Sum of all matrices; of one micro-batch. Off-diagonal only.
DemandMatrix summed_demand(const IterationLoad& load);
DemandMatrix summed_demand(const IterationLoad& load, std::size_t row);

// Completion of a demand over given circuits, in units of demand per NIC: route_over() without the
// shares where that is cheaper.
double completion_over(const Region& region, const DemandMatrix& demand,
                       const Matrix<int>& circuits);
// The same of demands that are sent one after the other.
double summed_completion(const Region& region, std::span<const DemandMatrix> matrices,
                         const Matrix<int>& circuits);

// Circuits for a demand, as wire() chooses them.
Matrix<int> circuits_for(const Region& region, const DemandMatrix& demand);

// A(C) in seconds, +infinity if some demand has no way.
double all_to_all_s(const Region& region, const IterationLoad& load, const Matrix<int>& circuits);

// What differs between two sets of circuits of one region.
struct CircuitChange {
  Matrix<int> stays;  // circuits in both: up all the time
  int removed = 0;
  int added = 0;  // dark until the NICs at both ends are back

  int changed() const { return removed < added ? added : removed; }
};
CircuitChange change_between(const Matrix<int>& from, const Matrix<int>& to);

// Loss in seconds of work at a share of the time, see above; `exposed_s` is X.
double detour_loss_s(double exposed_s, double other_s, double stays_s, double new_s);

}  // namespace mixnet::plan
