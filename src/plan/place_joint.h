#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix.h"
#include "core/wiring.h"
#include "plan/nic_counts.h"
#include "plan/wire.h"

// Experts and circuits of one region decided together.
//
// Circuits fit a demand, and the demand between servers is what a placement makes of the tokens
// that sources have for experts. Deciding one after the other leaves two things on the table: an
// expert may stand on the server that has most tokens for it (they then need no NIC), and a server
// may be given experts so that what it sends and receives fits its circuits. Here experts are
// swapped between servers for a shorter completion of the all-to-all under the circuits that
// the allocator finds for the result; placements and circuits alternate until neither gains.
//
// A placement is `slot_expert`: the expert in every slot, slot s on GPU gpu_of(s), -1 if empty.
// Tokens for an expert with r copies are divided over them evenly, 1 / r each, as EPLB does.
// The dispatch decides; the combine moves the transpose over the same symmetric circuits.
namespace mixnet::plan {

struct JointProblem {
  DemandMatrix sent;        // servers x experts: token assignments that a server has per expert
  int gpus_per_server = 1;  // > 0
  NicCounts alpha = 0;      // optical NICs per server
  NicCounts eps = 0;        // electrical NICs per server
  Allocator allocator = Allocator::kSplit;

  std::size_t servers() const { return sent.rows(); }
  std::size_t gpus() const { return servers() * static_cast<std::size_t>(gpus_per_server); }
};

// Slots are divided over the GPUs in order, as evenly as their number allows: GPU of slot `slot`
// of `slots`, the larger shares first.
std::size_t gpu_of(std::size_t slot, std::size_t slots, std::size_t gpus);

struct JointPlan {
  std::vector<int> slot_expert;
  DemandMatrix demand;       // servers x servers, the diagonal is local
  Wiring wiring;             // with completion and bound for `demand`
  double max_gpu_load = 0;   // most assignments that one GPU computes
  double mean_gpu_load = 0;  // of all GPUs
};

struct JointBudget {
  int wirings = 256;  // allocator runs
};

// Demand between servers under a placement; expert ids are within `sent`, and every expert that
// has tokens has a slot (CHECKed).
DemandMatrix demand_under(const JointProblem& problem, const std::vector<int>& slot_expert);

// Circuits for a placement that stays as it is.
JointPlan wire_under(const JointProblem& problem, const std::vector<int>& slot_expert);

// Better of the `starts` and of what swaps make of each; never later than any start, and no GPU
// computes more than under the start that it came from. A swap that does not shorten the
// completion is not made, and of equals the first start wins: pass the current placement first.
// Never puts two copies of an expert on one GPU that had at most one of it. Deterministic.
// At least one start, all of equal size. A swap is valued in O(1), a round looks at
// (slots of a server) x slots of them.
JointPlan place_and_wire(const JointProblem& problem, const std::vector<std::vector<int>>& starts,
                         const JointBudget& budget = {});

// No placement with these numbers of copies and no wiring completes earlier: tokens stay local at
// best where a copy stands on the server with most tokens for it; what is left divides over all
// NICs of the region, and what one copy receives over those of one server.
double any_placement_bound(const JointProblem& problem, const std::vector<int>& slot_expert);

}  // namespace mixnet::plan
