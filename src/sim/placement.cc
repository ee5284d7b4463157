#include "sim/placement.h"

#include <numeric>

#include "core/check.h"

namespace mixnet::sim {

Placement::Placement(const Parallelism& layout, const Cluster& cluster)
    : layout_(layout),
      servers_(cluster.servers),
      ranks_per_server_(cluster.gpus_per_server / layout.tp),
      nic_groups_(std::gcd(ranks_per_server_, cluster.nics_per_server)),
      nics_per_group_(cluster.nics_per_server / nic_groups_) {
  CHECK(layout.gpus() == cluster.gpus(), "the layout fills the cluster");
  CHECK(cluster.gpus_per_server % layout.tp == 0, "tp divides the GPUs of a server");
  CHECK(layout.ep % ranks_per_server_ == 0 || ranks_per_server_ % layout.ep == 0,
        "expert ranks fill whole servers or an equal share of one");
  const int stage = layout.dp * layout.ep;
  CHECK(stage % ranks_per_server_ == 0 || ranks_per_server_ % stage == 0,
        "stages fill whole servers or an equal share of one");
}

}  // namespace mixnet::sim
