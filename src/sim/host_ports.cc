#include "sim/host_ports.h"

#include <algorithm>

namespace mixnet::sim {

BitRate nvlink_rate(const Study& study, int gpus) {
  return BitRate::from_bps(
      static_cast<int64_t>(study.cluster.gpu.nvlink_gbytes_per_s * 8e9 * gpus + 0.5));
}

NicPorts::NicPorts(LinkTable& table, const Study& study, const Placement& placement)
    : groups_(placement.nic_groups()),
      ports_(table, placement.servers() * groups_,
             study.cluster.nic_rate * placement.nics_per_group()) {}

int servers_per_leaf(int nics, const FabricSpec& spec) {
  const double down = spec.switch_radix * spec.oversubscription / (spec.oversubscription + 1.0);
  return std::max(1, static_cast<int>(down) / nics);
}

BitRate leaf_uplink(const Cluster& cluster, const FabricSpec& spec) {
  const int servers = servers_per_leaf(cluster.nics_per_server, spec);
  return BitRate::from_bps(static_cast<int64_t>(static_cast<double>(cluster.nic_rate.bps()) *
                                                cluster.nics_per_server * servers /
                                                spec.oversubscription));
}

TreeHops::TreeHops(int servers_per_leaf, int switch_radix)
    : servers_per_leaf_(std::max(1, servers_per_leaf)),
      leaves_per_pod_(std::max(1, switch_radix / 2)) {}

int TreeHops::between(int a, int b) const {
  if (leaf(a) == leaf(b)) {
    return 2;
  }
  return leaf(a) / leaves_per_pod_ == leaf(b) / leaves_per_pod_ ? 4 : 6;
}

}  // namespace mixnet::sim
