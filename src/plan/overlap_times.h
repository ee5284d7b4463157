#pragma once

#include "core/deployment.h"
#include "core/transport.h"
#include "core/units.h"

// Problem: how long do the parts of one MoE layer take on the slowest GPU, for a whole batch, for
// half a batch, or for one group of its experts?
//
// Roofline. A kernel takes the longer of its FLOPs at the achieved peak and its bytes at the
// achieved memory bandwidth, plus one launch. Expert GEMMs read the weights of every expert that
// has a token (expected number for uniform picks), so at decode batches half a batch costs as much
// as a whole one, and half the experts cost half.
//
// Dispatch and combine. After `latency` the bytes flow for `network`: the longer of the NIC's and
// the NVLink's share. Relays forward token by token, so both flow at once. Their kernels hold the
// GPU for `kernel`. Up to kLowLatencyTokens tokens per GPU the latency kernels are assumed: their
// time grows with the copies handled from the calibrated point (core/deployment.h). Beyond, kernels
// of modes 1 and 2 hold a share of the SMs as long as bytes flow, and mode 0 only packs.
//
// No part is longer than 100 s.
//
// Measured times replace what they measure; parts are scaled by the ratio that the model gives.
//
// Source: "Balancing and Beyond" (SIGCOMM 2026), sections 2.2, 5.1, 5.2.
namespace mixnet::plan {

inline constexpr int kLowLatencyTokens =
    128;  // per GPU; what DeepEP's latency kernels are made for

// One round of dispatch or combine.
struct CommunicationTime {
  SimTime latency;
  SimTime network;
  SimTime kernel;

  // Of a round that overlaps with nothing.
  SimTime alone() const { return later_of(kernel, latency + network); }
};

// What a split leaves of a layer: `tokens` per GPU, and experts `group` of `groups`.
struct LayerPart {
  int tokens = 0;
  int groups = 1;
  int group = 0;
};

struct PartTimes {
  SimTime attention;  // everything that is not routed experts; of all experts' tokens
  SimTime gemm;
  CommunicationTime dispatch;
  CommunicationTime combine;
};

// Times of a part of a layer that has `batch` tokens per GPU. part.tokens in 1 .. batch, groups at
// most the experts of a GPU. A single host relays nothing: mode 2 is mode 1 there.
PartTimes part_times(const Deployment& deployment, Transport transport, int batch,
                     const LayerPart& part);

// Experts on the GPU that has most.
int experts_per_gpu(const Deployment& deployment);

// Bytes of one copy: a token in the precision of dispatch with its scales and a 16-byte header, or
// in that of combine.
double dispatch_copy_bytes(const Deployment& deployment);
double combine_copy_bytes(const Deployment& deployment);

// Of a step with `batch` tokens per GPU, outside MoE layers: dense layers, output head, and what
// the deployment states.
SimTime outside_time(const Deployment& deployment, int batch);

}  // namespace mixnet::plan
