// Fabrics with pooled NICs: a delegation GPU gathers over NVLink what its server sends to another
// one, and one there scatters it. Fat-trees and rails, MixNet (regional circuits beside an
// electrical fat-tree) and TopoOpt (one-shot direct-connect topology), all with the same host side.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/workload.h"
#include "sim/fabric.h"
#include "sim/host_ports.h"
#include "sim/surviving_ports.h"

namespace mixnet::sim {
namespace {

// What both share: NVLink ports of ranks for traffic inside a server, and an NVLink pool of the
// server for what its delegation GPUs gather and scatter.
class ServerLevelFabric : public Fabric {
 public:
  ServerLevelFabric(const Study& study, const Placement& placement)
      : network_(study.network),
        placement_(placement),
        nvlink_(table_, placement.ranks(), nvlink_rate(study, placement.gpus_per_rank())),
        pool_(table_, placement.servers(), nvlink_rate(study, study.cluster.gpus_per_server)) {}

  const std::vector<BitRate>& links() const override { return table_.capacity(); }

 protected:
  // Messages summed per server pair (std::map: ascending, so flows come in a fixed order); what
  // stays inside a server becomes NVLink flows of `plan`.
  using ServerBytes = std::map<std::pair<int, int>, Bytes>;
  ServerBytes between_servers(std::span<const Message> messages, TransferPlan& plan) const {
    ServerBytes sums;
    for (const Message& m : messages) {
      if (m.src_rank == m.dst_rank || m.bytes.count() == 0) {
        continue;
      }
      const int src = placement_.server_of(m.src_rank);
      const int dst = placement_.server_of(m.dst_rank);
      if (src == dst) {
        plan.flows.push_back({{{nvlink_.out(m.src_rank)},
                               {pool_.out(src)},
                               {pool_.in(src)},
                               {nvlink_.in(m.dst_rank)}},
                              m.bytes});
        plan.latency = later_of(plan.latency, network_.nvlink_latency);
      } else {
        sums[{src, dst}] += m.bytes;
      }
    }
    return sums;
  }

  // A flow between two servers over `network`, with the latency of that part. Gathering and
  // scattering cross the NVLink switch of their server once each.
  void add_flow(TransferPlan& plan, std::pair<int, int> pair, Bytes bytes,
                std::vector<LinkShare> network, SimTime latency) const {
    for (const int server : {pair.first, pair.second}) {
      network.push_back({pool_.out(server)});
      network.push_back({pool_.in(server)});
    }
    plan.flows.push_back({std::move(network), wire_bytes(bytes, network_)});
    plan.latency = later_of(plan.latency, latency + network_.nvlink_latency * 2);
  }

  NetworkSettings network_;
  Placement placement_;
  LinkTable table_;
  Ports nvlink_;
  Ports pool_;
};

class TopoOpt final : public ServerLevelFabric {
 public:
  TopoOpt(const Study& study, const Placement& placement, DirectConnect topology)
      : ServerLevelFabric(study, placement), topology_(std::move(topology)) {
    for (const DirectConnect::Link& link : topology_.links) {
      const LinkId id = table_.add(1, study.cluster.nic_rate * link.count);
      first_link_ = first_link_.valid() ? first_link_ : id;
    }
  }

  TransferPlan route(std::span<const Message> messages) const override {
    TransferPlan plan;
    for (const auto& [pair, bytes] : between_servers(messages, plan)) {
      const DirectConnect::Route& route = find(pair);
      std::vector<LinkShare> path;
      for (const DirectConnect::Share& share : route.shares) {
        path.push_back({offset(first_link_, share.link), share.fraction});
      }
      add_flow(
          plan, pair, bytes, std::move(path),
          network_.link_latency * (2LL * route.hops) + network_.nvlink_latency * (route.hops - 1));
    }
    return plan;
  }

 private:
  const DirectConnect::Route& find(std::pair<int, int> pair) const {
    const auto it = std::lower_bound(topology_.routes.begin(), topology_.routes.end(), pair,
                                     [](const DirectConnect::Route& route, const auto& wanted) {
                                       return std::pair(route.src, route.dst) < wanted;
                                     });
    CHECK(it != topology_.routes.end() && std::pair(it->src, it->dst) == pair,
          "the topology has a route for every pair of servers that talk");
    return *it;
  }

  DirectConnect topology_;
  LinkId first_link_;
};

// An electrical tree to which every server is joined by `nics` of its NICs.
struct TreeShape {
  int nics = 0;
  int servers_per_leaf = 1;
  bool thin_uplinks = false;
};

class PooledTree : public ServerLevelFabric {
 public:
  PooledTree(const Study& study, const FabricSpec& spec, const Placement& placement,
             const TreeShape& shape)
      : ServerLevelFabric(study, placement),
        hops_(shape.servers_per_leaf, spec.switch_radix),
        thin_(shape.thin_uplinks),
        nics_(table_, placement.servers(), study.cluster.nic_rate * shape.nics),
        leaf_(table_, hops_.leaf(placement.servers() - 1) + 1, leaf_uplink(study.cluster, spec)) {
    if (!study.failures.empty()) {
      lose_ports(study, spec, placement);
    }
  }

  TransferPlan route(std::span<const Message> messages) const override {
    TransferPlan plan;
    for (const auto& [pair, bytes] : between_servers(messages, plan)) {
      add_electrical(plan, pair, bytes);
    }
    return plan;
  }

 protected:
  void add_electrical(TransferPlan& plan, std::pair<int, int> pair, Bytes bytes) const {
    if (bytes.count() == 0) {
      return;
    }
    if (gateways_.count(pair.first) > 0 || gateways_.count(pair.second) > 0) {
      add_over_gateways(plan, pair, bytes);
      return;
    }
    const auto [src, dst] = pair;
    std::vector<LinkShare> path{{nics_.out(src)}, {nics_.in(dst)}};
    if (thin_ && hops_.leaf(src) != hops_.leaf(dst)) {
      path.push_back({leaf_.out(hops_.leaf(src))});
      path.push_back({leaf_.in(hops_.leaf(dst))});
    }
    add_flow(plan, pair, bytes, std::move(path), network_.link_latency * hops_.between(src, dst));
  }

 private:
  // A server without electrical NICs and the peer whose NICs it uses, over a circuit kept for it.
  struct Gateway {
    int peer = 0;
    LinkId to;    // from the server to its peer
    LinkId from;  // and back
  };

  void lose_ports(const Study& study, const FabricSpec& spec, const Placement& placement) {
    const std::vector<ServerPorts> ports = surviving_ports(study, spec, placement);
    for (int server = 0; server < placement.servers(); ++server) {
      const ServerPorts& p = ports[static_cast<std::size_t>(server)];
      if (p.gateway >= 0) {
        const LinkId circuit = table_.add(2, study.cluster.nic_rate);
        gateways_[server] = Gateway{p.gateway, circuit, offset(circuit, 1)};
        continue;
      }
      const BitRate rate = study.cluster.nic_rate * p.electrical;
      table_.set(nics_.out(server), rate);
      table_.set(nics_.in(server), rate);
    }
  }

  // Out over the gateway of the sender, in over that of the receiver, electrically between them.
  void add_over_gateways(TransferPlan& plan, std::pair<int, int> pair, Bytes bytes) const {
    std::vector<LinkShare> path;
    int links = 0;
    const auto enter = [&](int server, bool out) {
      const auto it = gateways_.find(server);
      if (it == gateways_.end()) {
        return server;
      }
      path.push_back({out ? it->second.to : it->second.from});
      links += 2;
      // The gateway forwards over its NVLink switch unless the bytes end there.
      if (it->second.peer != (out ? pair.second : pair.first)) {
        path.push_back({pool_.in(it->second.peer)});
        path.push_back({pool_.out(it->second.peer)});
      }
      return it->second.peer;
    };
    const int src = enter(pair.first, true);
    const int dst = src == pair.second ? src : enter(pair.second, false);
    if (src != dst) {
      path.push_back({nics_.out(src)});
      path.push_back({nics_.in(dst)});
      links += hops_.between(src, dst);
    }
    add_flow(plan, pair, bytes, std::move(path), network_.link_latency * links);
  }

  TreeHops hops_;
  bool thin_;
  Ports nics_;
  Ports leaf_;
  std::map<int, Gateway> gateways_;
};

TreeShape electrical_part(const Study& study, const FabricSpec& spec) {
  const int nics = study.cluster.nics_per_server - spec.mixnet.alpha;
  CHECK(nics > 0, "a server keeps at least one electrical NIC");
  return {nics, spec.switch_radix / 2 / nics, false};
}

class Mixnet final : public PooledTree {
 public:
  Mixnet(const Study& study, const FabricSpec& spec, const Placement& placement)
      : PooledTree(study, spec, placement, electrical_part(study, spec)),
        region_servers_(placement.region_servers()),
        circuits_(table_.add(placement.regions() * region_servers_ * region_servers_,
                             study.cluster.nic_rate)) {}

  bool has_circuits() const override { return region_servers_ > 1; }

  TransferPlan route_circuits(int region, std::span<const Message> messages, const Wiring& wiring,
                              double bytes_per_unit) const override {
    TransferPlan plan;
    between_servers(messages, plan);
    const int base = placement_.first_server(region);
    for (int i = 0; i < region_servers_; ++i) {
      for (int j = 0; j < region_servers_; ++j) {
        const auto at = [&](const Matrix<double>& shares) {
          return to_bytes(shares(static_cast<std::size_t>(i), static_cast<std::size_t>(j)),
                          bytes_per_unit);
        };
        add_optical(plan, region, {i, j}, at(wiring.circuit), wiring);
        add_electrical(plan, {base + i, base + j}, at(wiring.eps));
      }
    }
    for (const RelayShare& relay : wiring.relay) {
      add_relay(plan, region, relay, to_bytes(relay.amount, bytes_per_unit), wiring);
    }
    return plan;
  }

 private:
  static Bytes to_bytes(double amount, double bytes_per_unit) {
    // A share below one byte is solver noise, not traffic.
    const double bytes = amount * bytes_per_unit;
    return Bytes(bytes < 0.5 ? 0 : static_cast<int64_t>(std::ceil(bytes - 1e-6)));
  }

  // The link of a pair has the rate of one NIC; each of k parallel circuits carries 1/k of a flow.
  LinkShare circuit(int region, int i, int j, const Wiring& wiring) const {
    const int count = wiring.circuits(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    CHECK(count > 0, "optical bytes have a circuit");
    return {offset(circuits_, (region * region_servers_ + i) * region_servers_ + j), 1.0 / count};
  }

  void add_optical(TransferPlan& plan, int region, std::pair<int, int> pair, Bytes bytes,
                   const Wiring& wiring) const {
    if (bytes.count() > 0) {
      const int base = placement_.first_server(region);
      add_flow(plan, {base + pair.first, base + pair.second}, bytes,
               {circuit(region, pair.first, pair.second, wiring)}, network_.link_latency * 2);
    }
  }

  void add_relay(TransferPlan& plan, int region, const RelayShare& relay, Bytes bytes,
                 const Wiring& wiring) const {
    if (bytes.count() > 0) {
      const int base = placement_.first_server(region);
      add_flow(plan, {base + relay.src, base + relay.dst}, bytes,
               {circuit(region, relay.src, relay.via, wiring),
                {pool_.in(base + relay.via)},
                {pool_.out(base + relay.via)},
                circuit(region, relay.via, relay.dst, wiring)},
               network_.link_latency * 4 + network_.nvlink_latency);
    }
  }

  int region_servers_;
  LinkId circuits_;
};

}  // namespace

std::unique_ptr<Fabric> make_pooled_tree(const Study& study, const FabricSpec& spec,
                                         const Placement& placement) {
  const int nics = study.cluster.nics_per_server;
  return std::make_unique<PooledTree>(
      study, spec, placement,
      TreeShape{nics, servers_per_leaf(nics, spec), spec.oversubscription > 1});
}

std::unique_ptr<Fabric> make_pooled_rails(const Study& study, const FabricSpec& spec,
                                          const Placement& placement) {
  // A leaf serves one rail: half of its ports face as many servers.
  return std::make_unique<PooledTree>(
      study, spec, placement,
      TreeShape{study.cluster.nics_per_server, spec.switch_radix / 2, false});
}

std::unique_ptr<Fabric> make_topoopt(const Study& study, const Placement& placement,
                                     DirectConnect topology) {
  return std::make_unique<TopoOpt>(study, placement, std::move(topology));
}

std::unique_ptr<Fabric> make_mixnet(const Study& study, const FabricSpec& spec,
                                    const Placement& placement) {
  return std::make_unique<Mixnet>(study, spec, placement);
}

}  // namespace mixnet::sim
