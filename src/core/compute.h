#pragma once

#include <optional>
#include <string>

#include "core/units.h"

namespace mixnet {

// Measured forward times of one MoE layer on one rank group; unset = computed from FLOPs.
struct LayerTimes {
  std::optional<SimTime> attention;  // with its tensor-parallel all-reduce
  std::optional<SimTime> gate;
  std::optional<SimTime> expert;  // the slowest rank
  std::optional<SimTime> add_norm;
  std::optional<SimTime> dispatch;  // measured all-to-alls: reported beside ours, never used
  std::optional<SimTime> combine;
  int micro_batch_size = 0;  // at which they were measured; times scale linearly with it
  std::string source;
};

struct ComputeSettings {
  double efficiency = 0.4;       // achieved share of the GPU's dense BF16 peak
  double backward_factor = 2.0;  // backward compute / forward compute
  int bytes_per_element = 2;     // activations
  int gradient_bytes = 2;        // one parameter's gradient on the wire
  LayerTimes measured;
};

}  // namespace mixnet
