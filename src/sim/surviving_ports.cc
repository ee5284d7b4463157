#include "sim/surviving_ports.h"

#include <algorithm>
#include <cstddef>

namespace mixnet::sim {
namespace {

// Servers of the region that `server` is in: [first, second).
std::pair<int, int> region_of(int server, const Placement& placement) {
  const int size = placement.region_servers();
  const int first = server / size * size;
  return {first, first + size};
}

int choose_gateway(int server, const std::vector<ServerPorts>& ports, const Placement& placement) {
  const auto [first, end] = region_of(server, placement);
  int best = -1;
  for (int peer = first; peer < end; ++peer) {
    const ServerPorts& p = ports[static_cast<std::size_t>(peer)];
    if (peer == server || p.electrical == 0 || p.optical == 0 || p.gateway >= 0) {
      continue;
    }
    if (best < 0 ||
        p.optical + p.electrical > ports[static_cast<std::size_t>(best)].optical +
                                       ports[static_cast<std::size_t>(best)].electrical) {
      best = peer;
    }
  }
  return best;
}

// The electrical NICs that mixnet would have in a server: the parts that break are then the same on
// every fabric.
int mixnet_electrical(const Study& study, const FabricSpec& spec) {
  return std::max(1, study.cluster.nics_per_server - spec.mixnet.alpha);
}

struct Breaking {
  bool circuits = false;
  int electrical = 0;  // NICs that are lost with eps-nics
};

void apply(const Failure& failure, const Breaking& breaking, const Placement& placement,
           std::vector<ServerPorts>& ports) {
  const bool circuits = breaking.circuits;
  ServerPorts& p = ports[static_cast<std::size_t>(failure.server)];
  const auto lose = [](int& nics) { nics = std::max(0, nics - 1); };
  switch (failure.kind) {
    case FailureKind::kNic:
    case FailureKind::kLink:
      lose(circuits && failure.side == FailureSide::kOptical ? p.optical : p.electrical);
      return;
    case FailureKind::kOcsPort:
      lose(p.optical);
      return;
    case FailureKind::kOcs: {
      const auto [first, end] = region_of(failure.server, placement);
      for (int server = first; server < end; ++server) {
        ports[static_cast<std::size_t>(server)].optical = 0;
      }
      return;
    }
    case FailureKind::kEpsNics:
      p.electrical = std::max(0, p.electrical - breaking.electrical);
      return;
    case FailureKind::kServer:
      p.optical = 0;
      return;
    case FailureKind::kGpu:
      // One NIC is the backup's alone; the last electrical one is shared.
      if (circuits && failure.side == FailureSide::kOptical) {
        lose(p.optical);
      } else {
        p.electrical = std::max(1, p.electrical - 1);
      }
      return;
  }
}

}  // namespace

std::vector<ServerPorts> surviving_ports(const Study& study, const FabricSpec& spec,
                                         const Placement& placement) {
  const bool circuits = spec.kind == FabricKind::kMixnet && placement.region_servers() > 1;
  const int alpha = spec.kind == FabricKind::kMixnet ? spec.mixnet.alpha : 0;
  std::vector<ServerPorts> ports(
      static_cast<std::size_t>(placement.servers()),
      ServerPorts{circuits ? alpha : 0, study.cluster.nics_per_server - alpha, -1});
  const Breaking breaking{circuits, mixnet_electrical(study, spec)};
  for (const Failure& failure : study.failures) {
    apply(failure, breaking, placement, ports);
  }
  // Gateways last, when it is known who has NICs left.
  for (int server = 0; server < placement.servers(); ++server) {
    ServerPorts& p = ports[static_cast<std::size_t>(server)];
    if (p.electrical > 0) {
      continue;
    }
    const int gateway = p.optical > 0 ? choose_gateway(server, ports, placement) : -1;
    if (gateway < 0) {
      p.electrical = 1;
      continue;
    }
    p.gateway = gateway;
    --p.optical;
    --ports[static_cast<std::size_t>(gateway)].optical;
  }
  return ports;
}

std::vector<bool> remote_tensor_regions(const Study& study, const Placement& placement) {
  std::vector<bool> remote(static_cast<std::size_t>(placement.regions()), false);
  for (const Failure& failure : study.failures) {
    if (failure.kind == FailureKind::kGpu && study.parallelism.tp > 1) {
      const int rank = failure.server * placement.ranks_per_server();
      remote[static_cast<std::size_t>(rank / placement.expert_ranks())] = true;
    }
  }
  return remote;
}

}  // namespace mixnet::sim
