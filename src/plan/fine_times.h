#pragma once

#include <cstddef>

#include "core/matrix.h"
#include "plan/delay.h"
#include "plan/region_time.h"

// What re-wiring within an iteration costs: for every pass of a micro-batch, or inside every layer.
//
// Up to `serves` all-to-alls lie between one switch and the next. If X sticks out of the window of
// a switch and they take S seconds over what stays and N over the new circuits, blocking loses X
// and a detour min(X, S) (S - N) / S: what runs dark to its end loses S - N and no more.
namespace mixnet::plan {

struct FineTimes {
  double all_to_all_s = 0;
  double block_s = 0;   // lost to switches if traffic waits
  double detour_s = 0;  // lost if it runs over what stays, at most block_s
};

// Circuits that meet in one layer.
struct LayerCircuits {
  const Matrix<int>& before;  // those of the layer before
  const Matrix<int>& guess;   // for the predicted demand, Foresight::kLast
  const Matrix<int>& own;     // for the exact demand
};

// One layer and micro-batch with all switches of the load.
FineTimes layer_times(const Region& region, const IterationLoad& load, const DemandMatrix& demand,
                      const LayerCircuits& circuits, DarkTimes& dark);

// Change of circuits around a pass.
struct PassCircuits {
  const Matrix<int>& before;
  const Matrix<int>& now;
};

// One pass (half of the all-to-alls) of micro-batch `row`.
FineTimes pass_times(const Region& region, const IterationLoad& load, std::size_t row,
                     const PassCircuits& circuits, DarkTimes& dark);

}  // namespace mixnet::plan
