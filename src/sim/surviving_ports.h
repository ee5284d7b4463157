#pragma once

#include <vector>

#include "core/study.h"
#include "sim/placement.h"

namespace mixnet::sim {

// NICs that a server has left.
struct ServerPorts {
  int optical = 0;
  int electrical = 0;
  // Server of the same region whose electrical NICs this one uses, over one circuit that is kept
  // for it; -1: it has its own. That circuit is not among `optical` of either.
  int gateway = -1;
};

// NICs of every server after the failures of the study. Only mixnet fabrics have optical ones.
//   nic, link        one NIC less, on the side given
//   ocs-port         one optical NIC less
//   ocs              no optical NIC in the region
//   eps-nics         no electrical NIC; the server of the region with the most NICs left becomes
//                    the gateway (the lower number of equals). Where all NICs are electrical, as
//                    many are lost as mixnet has (NICs - alpha, at least one)
//   server           the spare has no optical NIC
//   gpu              the backup takes one NIC of the side for itself (the last electrical one is
//                    shared), and slows its region down: remote_tensor_regions()
// A server that has lost everything keeps one electrical NIC: the job would not run without.
std::vector<ServerPorts> surviving_ports(const Study& study, const FabricSpec& spec,
                                         const Placement& placement);

// Per region: is one GPU of a rank a backup in another server, so that tensor parallelism leaves
// the server? The first rank of the server that lost a GPU is meant.
std::vector<bool> remote_tensor_regions(const Study& study, const Placement& placement);

}  // namespace mixnet::sim
