#include "sim/circuit_books.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::sim {

CircuitBooks::CircuitBooks(const Study& study, const FabricSpec& spec, const Placement& placement,
                           const Policies& policies, DemandTable& demand)
    : whole_(study, placement, policies.whole, demand) {
  if (study.failures.empty() || spec.kind != FabricKind::kMixnet) {
    return;
  }
  const std::vector<ServerPorts> ports = surviving_ports(study, spec, placement);
  const int optical = spec.mixnet.alpha;
  const int electrical = study.cluster.nics_per_server - optical;
  for (int region = 0; region < placement.regions(); ++region) {
    const auto first = ports.begin() + placement.first_server(region);
    const std::vector<ServerPorts> own(first, first + placement.region_servers());
    const bool whole = std::all_of(own.begin(), own.end(), [&](const ServerPorts& p) {
      return p.optical == optical && p.electrical == electrical;
    });
    if (!whole && placement.region_servers() > 1) {
      CHECK(policies.after, "failures need a wiring policy for what is left");
      CircuitBook::Policies rest = policies.whole;
      rest.wiring = policies.after(own);
      broken_.emplace(region, std::make_unique<CircuitBook>(study, placement, rest, demand));
    }
  }
}

CircuitBook& CircuitBooks::of(int region) {
  const auto it = broken_.find(region);
  return it == broken_.end() ? whole_ : *it->second;
}

}  // namespace mixnet::sim
