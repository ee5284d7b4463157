#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"

// What re-wiring costs one training iteration.
//
// A switch takes T_OCS (circuits dark) and then T_NIC (until the links are up again). It starts at
// the beginning of a window W in which nobody needs the circuits (expert compute for the combine,
// attention for a predicted dispatch, nothing for a dispatch that blocks) and delays the iteration
// only by what sticks out of it:
//   exposed = max(0, T_OCS + T_NIC - W).
// MixNet (SIGCOMM 2025), section 5.1 and appendices B.2 and C. The published training times leave
// T_NIC out.
namespace mixnet::plan {

SimTime exposed_time(SimTime switch_time, SimTime relink_time, SimTime window);

// The switches of one region in one iteration.
struct SwitchSchedule {
  int layers = 0;                // MoE layers that the region serves
  std::vector<SimTime> windows;  // one per switch of a layer, e.g. dispatch and combine
  int64_t rounds = 1;   // how often all of these happen: 1 per iteration, or once per micro-batch
  SimTime switch_time;  // T_OCS
  SimTime relink_time;  // T_NIC
};

// total = exposed + hidden.
struct SwitchingCost {
  int64_t switches = 0;
  SimTime exposed;
  SimTime hidden;
  SimTime total;
};

SwitchingCost switching_cost(const SwitchSchedule& schedule);

// Dispatch and combine, forward and backward, of every MoE layer and micro-batch.
int64_t all_to_alls_per_iteration(int layers, int64_t micro_batches);

// Exposed time over the time of `all_to_alls` all-to-alls of `mean_all_to_all` each; both > 0.
double exposed_per_all_to_all(SimTime exposed, int64_t all_to_alls, SimTime mean_all_to_all);

}  // namespace mixnet::plan
