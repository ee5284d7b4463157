#include "cli/policies.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cli/cadence_policy.h"
#include "cli/prediction_policy.h"
#include "core/check.h"
#include "plan/topology.h"
#include "plan/wire.h"

namespace mixnet::cli {
namespace {

sim::DirectConnect::Route route_of(int src, int dst, const std::vector<plan::RouteShare>& shares) {
  CHECK(!shares.empty(), "a one-shot topology connects every pair of servers that talk");
  sim::DirectConnect::Route route{src, dst, 1, {}};
  double hops = 0;
  for (const plan::RouteShare& share : shares) {
    route.shares.push_back({share.directed_link, share.fraction});
    hops += share.fraction;
  }
  route.hops = std::max(1, static_cast<int>(hops + 0.5));
  return route;
}

sim::WiringPolicy wiring_policy(const plan::NicCounts& alpha, const plan::NicCounts& eps,
                                Allocator allocator) {
  sim::WiringPolicy policy;
  policy.wire = [=](const DemandMatrix& demand) {
    return plan::wire(plan::WireProblem{demand, alpha, eps}, allocator);
  };
  policy.route = [=](const DemandMatrix& demand, const Matrix<int>& circuits) {
    return plan::route_over(plan::WireProblem{demand, alpha, eps}, circuits, allocator);
  };
  return policy;
}

// For a region that has lost NICs. Its partial changes are whole ones.
sim::WiringAfterFailures wiring_after_failures(const FabricSpec& spec) {
  return [allocator = spec.mixnet.allocator](const std::vector<sim::ServerPorts>& ports) {
    std::vector<int> alpha;
    std::vector<int> eps;
    for (const sim::ServerPorts& p : ports) {
      alpha.push_back(p.optical);
      // Over its gateway a server still has about one electrical NIC.
      eps.push_back(p.gateway >= 0 ? 1 : p.electrical);
    }
    sim::WiringPolicy policy = wiring_policy(alpha, eps, allocator);
    policy.change = [wire = policy.wire](const sim::ChangeRequest& request) {
      return wire(request.demand).circuits;
    };
    return policy;
  };
}

sim::TopologyPolicy topology_policy() {
  return [](const std::vector<sim::ServerTraffic>& traffic, int servers, int nics_per_server) {
    std::vector<plan::PairDemand> demand;
    std::map<int, std::set<int>> peers;
    for (const sim::ServerTraffic& t : traffic) {
      demand.push_back({t.src, t.dst, t.bytes, static_cast<int>(t.phase)});
      peers[t.src].insert(t.dst);
    }
    const plan::DirectTopology topology =
        plan::best_one_shot_topology(servers, nics_per_server, demand);
    sim::DirectConnect direct;
    for (const plan::DirectLink& link : topology.links()) {
      direct.links.push_back({link.i, link.j, link.count});
      direct.links.push_back({link.j, link.i, link.count});
    }
    for (const auto& [src, set] : peers) {
      const std::vector<int> dsts(set.begin(), set.end());
      const auto routes = topology.routes_from(src, dsts);
      for (std::size_t k = 0; k < dsts.size(); ++k) {
        direct.routes.push_back(route_of(src, dsts[k], routes[k]));
      }
    }
    return direct;
  };
}

}  // namespace

sim::IterationOptions iteration_policies(const FabricSpec& spec, const Study& study) {
  sim::IterationOptions options;
  options.topology = topology_policy();
  if (spec.kind != FabricKind::kMixnet) {
    return options;
  }
  options.wiring = wiring_policy(
      spec.mixnet.alpha, study.cluster.nics_per_server - spec.mixnet.alpha, spec.mixnet.allocator);
  options.wiring.change = change_policy(spec, study);
  options.wiring_after = wiring_after_failures(spec);
  options.predict = prediction_policy(spec, study);
  if (spec.mixnet.cadence == Cadence::kAuto) {
    options.cadence = cadence_policy(spec, study);
  }
  return options;
}

}  // namespace mixnet::cli
