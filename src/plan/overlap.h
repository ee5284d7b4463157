#pragma once

#include <span>
#include <vector>

#include "core/deployment.h"
#include "plan/overlap_times.h"

// Problem: how long is a layer when communication overlaps with computation in a given way?
//
// Definitions. Two resources: the GPU (attention, expert GEMMs and the kernels of communication,
// one after another) and the network. Per layer and part: attention, dispatch, GEMM, combine; the
// next layer's attention needs the combine.
//   none        the four parts one after another: the layer is their sum.
//   two-batch   (TBO) two half batches; while one communicates the other computes. Every weight is
//               loaded twice, so it loses where GEMMs are bound by memory, and it also hides
//               communication behind attention, so it may win where they are bound by compute.
//   per-expert  (PEO) experts in 2 or 4 groups; a group's dispatch and combine overlap with the
//               GEMMs of other groups, every weight is loaded once, attention hides nothing.
// The order of parts on each resource is fixed, so the time is a max-plus expression of the part
// times: it never falls when a part gets longer, and is never below the busier resource.
//
// Failure: none; what cannot be done (half a token, more groups than experts) is not offered.
// Complexity: O(layers * groups) after the part times.
// Source: "Balancing and Beyond" (SIGCOMM 2026), sections 2.2 and 5.2, Table 2, Figures 9-10.
namespace mixnet::plan {

enum class Overlap { kNone, kTwoBatch, kPerExpert };

// "none", "two-batch", "per-expert".
const char* overlap_name(Overlap overlap);

struct OverlapChoice {
  Transport transport = Transport::kNvlink;
  Overlap overlap = Overlap::kNone;
  int groups = 1;  // of per-expert overlap

  bool operator==(const OverlapChoice&) const = default;
};

struct LayerPrediction {
  SimTime layer;    // mean time from layer to layer when many follow each other
  SimTime step;     // all layers of the model and what is outside them: TPOT while decoding
  SimTime compute;  // of a layer: attention and GEMMs of all parts
  SimTime kernels;  // of a layer: the GPU held by dispatch and combine
  SimTime network;  // of a layer: bytes in flight

  // Of a layer: the GPU waits for the network.
  SimTime exposed() const { return layer - compute - kernels; }
  // No overlap of these parts can be faster.
  SimTime bound() const { return later_of(compute + kernels, network); }
};

// Every way that a deployment can run `batch` tokens per GPU: four transports (two on one host,
// where nothing is relayed) times no overlap, two-batch (batch >= 2), 2 and 4 expert groups.
std::vector<OverlapChoice> overlap_choices(const Deployment& deployment, int batch);

// batch >= 1; `choice` is one of overlap_choices().
LayerPrediction predict_layer(const Deployment& deployment, const OverlapChoice& choice, int batch);

// End of each of `layers` layers that follow each other, from 0. parts: one, two halves, or the
// groups; their attention is done once for groups.
std::vector<SimTime> layer_ends(Overlap overlap, std::span<const PartTimes> parts, int layers);

}  // namespace mixnet::plan
