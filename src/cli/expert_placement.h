#pragma once

#include <cstdint>
#include <vector>

#include "core/comparison.h"
#include "core/result.h"
#include "core/routing.h"
#include "core/study.h"

namespace mixnet::cli {

// Routing as a fabric meets it once its experts are placed: column s of the counts is the expert
// in slot s, and slot s belongs to expert rank s / (experts / ep), which is what the simulator
// takes experts for. Owns its counts; a view of it ends with it.
struct PlacedRouting {
  RoutingView shape;             // extents; its counts are not set
  std::vector<uint32_t> counts;  // [iteration, layer, source, slot]
  PlacementResult result;
  bool foresight = false;  // the first plan was made for the very iteration that it then met

  RoutingView view() const {
    RoutingView view = shape;
    view.counts = counts.data();
    return view;
  }
};

// Plans the experts of every traced layer as `spec.placement` says, from the counts of the
// `placement_every` iterations before (of one iteration before if it is planned once), or of the
// first iteration if there is none before. All copies of a layer place alike, since the copies of
// an expert share its gradient. Copies the trace up to the last simulated iteration:
// 4 bytes * iterations * layers * sources * experts.
//
// kJoint starts from the placement in use and from the NIC-aware one, and takes the better of what
// it makes of both; its circuits are those of the summed demand, while the simulation wires for
// each demand as the cadence says. Errors are those of the placement in plan/.
Result<PlacedRouting> place_experts(const Study& study, const FabricSpec& spec,
                                    const RoutingView& routing);

// Busiest expert rank over the mean, averaged over what the study simulates.
double expert_imbalance(const Study& study, const RoutingView& routing);

}  // namespace mixnet::cli
