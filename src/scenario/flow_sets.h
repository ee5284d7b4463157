#pragma once

#include <cstdint>

#include "scenario/flow_file.h"

// Flow sets that other simulators were measured on, made again to the byte. All flows start at 0.
namespace mixnet::scenario {

// Every host s sends `size` to s+1, s+2, ... (mod hosts), in that order.
FlowSet all_to_all_flows(int32_t hosts, Bytes size);

// A random permutation of the hosts without a fixed point, 2,000,000 bytes each.
FlowSet permutation_flows(int32_t hosts);

// Every host sends 1 MiB to each of `fan_out` distinct random other hosts.
FlowSet random_flows(int32_t hosts, int32_t fan_out);

// Dispatch-like all-to-alls inside groups of 32 consecutive hosts: the popularity of destinations
// is Zipf(1.2) in random order, the mean flow 256 KiB. The draws of `skipped_groups` groups are
// made and thrown away first.
FlowSet moe_flows(int32_t groups, int32_t skipped_groups);

}  // namespace mixnet::scenario
