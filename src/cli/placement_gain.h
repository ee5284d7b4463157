#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/result.h"
#include "plan/place_joint.h"

namespace mixnet::cli {

// What placing and wiring are worth for one layer of one region: completion of its dispatch, in
// units of the counts (one NIC moves one per unit of time).
struct PlacementGain {
  double wire_only = 0;        // experts in order
  double place_then_wire = 0;  // NIC-aware placement, or the one in order where that is no worse
  double joint = 0;
  double bound = 0;      // of any placement with as many copies, and any wiring
  plan::JointPlan plan;  // the joint one
};

// `problem.sent` as in plan/place_joint.h; the experts in order come first, further slots repeat
// them from the start. joint <= place_then_wire <= wire_only, since each may keep what the one
// before it has. Errors are those of plan::place_layer.
Result<PlacementGain> placement_gain(const plan::JointProblem& problem, int slots);

// Tokens per expert by source server: [servers, experts], columns sum to `loads`. Every source has
// an even share times exp(sigma * N(0, 1)), renormalised per expert; sigma 0 is an even spread.
DemandMatrix spread_over_servers(const std::vector<double>& loads, std::size_t servers,
                                 double sigma, uint64_t seed);

}  // namespace mixnet::cli
