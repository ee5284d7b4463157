#pragma once

#include <cstddef>
#include <vector>

#include "core/host_shape.h"
#include "core/result.h"

namespace mixnet::plan {

// One NIC per GPU, all of one rate.
HostShape one_nic_per_gpu(int gpus);

// GPUs of one expert-parallel group, hosts and slots ascending: GPU g owns gpu_slots[g] consecutive
// slots after those of GPU g - 1. A GPU with 0 slots takes no expert (a failed rank) but still
// sends.
struct PlaceCluster {
  std::vector<int> gpu_slots;    // [D]
  std::vector<int> gpu_host;     // [D], from 0, non-decreasing
  std::vector<int> gpu_nic;      // [D], NIC of the cluster, 0 to M - 1
  std::vector<int> nic_host;     // [M]
  std::vector<double> nic_rate;  // [M], bits per second

  std::size_t gpus() const { return gpu_slots.size(); }
  std::size_t nics() const { return nic_host.size(); }
  std::size_t hosts() const;
  std::size_t slots() const;
  // First slot of every GPU, and the number of slots at the end: [D + 1].
  std::vector<std::size_t> slot_starts() const;
};

// `gpus` GPUs in `hosts` hosts and `slots` slots; where they do not divide, the first hosts have
// one GPU more, and the first GPUs one slot more. A NIC without GPUs, in a host that has fewer than
// `shape`, is left out. Errors, with what to change: counts below 1, more hosts than GPUs, fewer
// slots than GPUs, more GPUs in a host than `shape` has.
Result<PlaceCluster> even_cluster(int gpus, int hosts, int slots, const HostShape& shape);

}  // namespace mixnet::plan
