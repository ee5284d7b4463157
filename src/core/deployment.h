#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/moe_model.h"
#include "core/transport.h"
#include "core/units.h"

// A model served or trained with expert parallelism on given GPUs and NICs: the input of the
// transport and overlap plan. Attention is data-parallel, experts are spread over `ep` GPUs.
namespace mixnet {

enum class Phase {
  kDecode,   // one new token per sequence; attention reads a cache of `context` tokens
  kForward,  // whole sequences of `context` tokens: prefill, or the forward pass of training
};

// What a round of dispatch or combine costs besides moving bytes.
struct TransportOverhead {
  SimTime latency;  // of dispatch + combine: until the first byte has arrived
  SimTime kernel;   // of dispatch + combine at kOverheadTokens tokens: time that their kernels hold
                    // the GPU, so that nothing else computes
};
inline constexpr int kOverheadTokens = 32;

// Defaults, calibrated on the measured times of one configuration: DeepSeek-R1, EP32 on H20 with
// four 400 Gb/s NICs, 32 tokens per GPU ("Balancing and Beyond", SIGCOMM 2026, sections 5.1, 9.4).
// Dispatch + combine took 235.48 / 190.21 / 134.00 us in modes 0 / 1 / 2, of which kernels 32.63 /
// 54.10 / 72.68 us; latency is what the bytes at line rate leave of the former (overlap_test.cc).
struct TransportOverheads {
  TransportOverhead direct{SimTime::from_ns(19'780), SimTime::from_ns(32'630)};
  TransportOverhead nvlink{SimTime::from_ns(23'220), SimTime::from_ns(54'100)};
  TransportOverhead relay{SimTime::from_ns(58'570), SimTime::from_ns(72'680)};

  const TransportOverhead& of(Transport transport) const {
    switch (transport) {
      case Transport::kDirect:
        return direct;
      case Transport::kNvlink:
        return nvlink;
      default:
        return relay;
    }
  }
};

// Measured times of one layer at one batch size; unset = computed.
struct MeasuredLayer {
  int batch = 0;
  Transport transport = Transport::kNvlink;  // of dispatch and combine
  std::optional<SimTime> attention;          // with everything that is not the routed experts
  std::optional<SimTime> dispatch;
  std::optional<SimTime> gemm;
  std::optional<SimTime> combine;
};

// How much the slowest has more than the mean; 1 = balanced.
struct LoadSkew {
  double gpu = 1;          // (token, expert) pairs of the hot GPU
  double nic = 1;          // copies through the hot NIC, one per expert
  double host = 1;         // copies into the hot host, one per token
  double host_copies = 1;  // copies into the hot host, one per expert
};

struct Deployment {
  MoeModel model;
  GpuSpec gpu;
  Phase phase = Phase::kDecode;
  int ep = 0;  // GPUs that share one copy of the experts
  int gpus_per_host = 8;
  int nics_per_host = 8;  // one of the two is a multiple of the other
  BitRate nic_rate;
  std::vector<int> batches;  // tokens per GPU
  int context = 4096;

  double weight_bytes = 1;    // of one parameter; 1 also computes at the FP8 peak
  double dispatch_bytes = 1;  // of one element; below 2 with a float32 scale per 128 elements
  double combine_bytes = 2;
  double cache_bytes = 2;  // of one element of the key-value cache

  double compute_efficiency = 0.7;  // achieved share of the dense peak
  double memory_efficiency = 0.9;   // achieved share of the memory bandwidth
  double nvlink_efficiency = 1.0;   // usable share of the NVLink rate
  double sm_share = 0.15;  // of the SMs, held by kernels of modes 1 and 2 beyond 128 tokens
  double cross_rail_slowdown = 1.0;      // of copies that cross rails
  SimTime launch = SimTime::from_us(2);  // of each kernel that a split adds, and least of a kernel
  SimTime other;                         // of a step, outside the layers
  TransportOverheads overheads;
  LoadSkew skew;
  std::optional<double> imbalance;      // instead of `skew`: tokens of the hottest expert over the
                                        // mean of all experts
  std::vector<MeasuredLayer> measured;  // ascending batches
};

}  // namespace mixnet
