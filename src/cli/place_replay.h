#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/routing.h"
#include "plan/eplb.h"
#include "plan/place.h"
#include "plan/place_cluster.h"
#include "plan/swap.h"

namespace mixnet::cli {

// How periodic placement ages on a trace: every `every` iterations the experts of every layer are
// placed for what the last `every` iterations counted, and each iteration then meets its own
// counts. Nothing of an iteration is known when it is planned for.
struct PlaceReplayOptions {
  plan::PlaceCluster cluster;
  plan::PlacePolicy policy = plan::PlacePolicy::kNicAware;  // kEplb or kNicAware
  int groups = 1;
  int64_t every = 200;        // iterations, >= 1
  plan::SwapRule swaps;       // per step, from the planned placement each time
  plan::PlaceOptions search;  // kNicAware only
};

// Most tokens of a GPU over the mean, averaged over layers; all on the same iterations.
struct PlaceReplayPoint {
  int64_t iteration = 0;
  int64_t age = 0;        // iterations since the plan
  double contiguous = 1;  // experts in order, no copies
  double planned = 1;
  double swapped = 1;  // after the swaps of the step
};

struct PlaceReplayResult {
  std::vector<PlaceReplayPoint> points;  // from the first planned iteration on
  PlaceReplayPoint right_after;          // mean over points of age 0
  PlaceReplayPoint before_next;          // mean over points of the highest age that was reached
  PlaceReplayPoint mean;
  int64_t plans = 0;  // of a layer
  int64_t moved = 0;  // experts that GPUs loaded, all layers, after the first plan
  int64_t swaps = 0;  // taken, all layers
};

// Errors: a trace with no iteration after the first plan, hosts of different sizes, and those of
// the policy.
Result<PlaceReplayResult> replay_placement(const RoutingView& trace,
                                           const PlaceReplayOptions& options);

}  // namespace mixnet::cli
