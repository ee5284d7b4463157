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
