#include "plan/place_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace mixnet::plan {

HostShape one_nic_per_gpu(int gpus) {
  HostShape shape;
  shape.nic_of_gpu.resize(static_cast<std::size_t>(gpus));
  std::iota(shape.nic_of_gpu.begin(), shape.nic_of_gpu.end(), 0);
  shape.nic_rate.assign(shape.nic_of_gpu.size(), BitRate::from_gbps(400));
  return shape;
}

std::size_t PlaceCluster::hosts() const {
  return gpu_host.empty() ? 0 : static_cast<std::size_t>(gpu_host.back()) + 1;
}

std::size_t PlaceCluster::slots() const { return slot_starts().back(); }

std::vector<std::size_t> PlaceCluster::slot_starts() const {
  std::vector<std::size_t> starts(1, 0);
  starts.reserve(gpus() + 1);
  for (const int count : gpu_slots) {
    starts.push_back(starts.back() + static_cast<std::size_t>(count));
  }
  return starts;
}

Result<PlaceCluster> even_cluster(int gpus, int hosts, int slots, const HostShape& shape) {
  if (std::min({gpus, hosts, slots}) < 1) {
    return Error{"GPUs, hosts and slots are counts of 1 or more", ""};
  }
  if (hosts > gpus) {
    return Error{
        fmt::format("{} GPUs do not fill {} hosts: give at most {} hosts", gpus, hosts, gpus), ""};
  }
  if (slots < gpus) {
    return Error{fmt::format("{} slots leave some of {} GPUs without an expert: give at least {} "
                             "slots, or fewer GPUs",
                             slots, gpus, gpus),
                 ""};
  }
  const int most = (gpus + hosts - 1) / hosts;
  const int room = static_cast<int>(shape.nic_of_gpu.size());
  if (most > room) {
    return Error{fmt::format("{} GPUs in {} hosts are {} per host, and the topology has {}: give "
                             "at most {} GPUs or at least {} hosts",
                             gpus, hosts, most, room, room * hosts, (gpus + room - 1) / room),
                 ""};
  }
  PlaceCluster cluster;
  for (int host = 0; host < hosts; ++host) {
    const int own = gpus / hosts + (host < gpus % hosts ? 1 : 0);
    std::vector<int> nic_at(shape.nic_rate.size(), -1);
    for (int i = 0; i < own; ++i) {
      const auto nic = static_cast<std::size_t>(shape.nic_of_gpu[static_cast<std::size_t>(i)]);
      if (nic_at[nic] < 0) {
        nic_at[nic] = static_cast<int>(cluster.nic_host.size());
        cluster.nic_host.push_back(host);
        cluster.nic_rate.push_back(static_cast<double>(shape.nic_rate[nic].bps()));
      }
      const int gpu = static_cast<int>(cluster.gpu_host.size());
      cluster.gpu_host.push_back(host);
      cluster.gpu_nic.push_back(nic_at[nic]);
      cluster.gpu_slots.push_back(slots / gpus + (gpu < slots % gpus ? 1 : 0));
    }
  }
  return cluster;
}

}  // namespace mixnet::plan
