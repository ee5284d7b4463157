// Fabrics at the granularity of servers: a delegation GPU gathers over NVLink what its server
// sends to another one. MixNet (regional circuits beside an electrical fat-tree) and TopoOpt
// (one-shot direct-connect topology).
#include <algorithm>
#include <cmath>
#include <map>

#include "core/check.h"
#include "core/workload.h"
#include "sim/fabric.h"
#include "sim/host_ports.h"

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
        plan.flows.push_back({{{nvlink_.out(m.src_rank)}, {nvlink_.in(m.dst_rank)}}, m.bytes});
        plan.latency = later_of(plan.latency, network_.nvlink_latency);
      } else {
        sums[{src, dst}] += m.bytes;
      }
    }
    return sums;
  }

  // A flow between two servers over `network`, gathered and scattered over NVLink.
  void add_flow(TransferPlan& plan, int src, int dst, Bytes bytes,
                std::vector<LinkShare> network) const {
    network.push_back({pool_.out(src)});
    network.push_back({pool_.in(dst)});
    plan.flows.push_back({std::move(network), wire_bytes(bytes, network_)});
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
      : ServerLevelFabric(study, placement),
        nics_(study.cluster.nics_per_server),
        topology_(std::move(topology)) {
    for (const DirectConnect::Link& link : topology_.links) {
      const LinkId id = table_.add(1, study.cluster.nic_rate * link.count);
      first_link_ = first_link_.valid() ? first_link_ : id;
    }
  }

  int packet_nics() const override { return nics_; }

  TransferPlan route(std::span<const Message> messages) const override {
    TransferPlan plan;
    for (const auto& [pair, bytes] : between_servers(messages, plan)) {
      const DirectConnect::Route& route = find(pair);
      std::vector<LinkShare> path;
      for (const DirectConnect::Share& share : route.shares) {
        path.push_back({offset(first_link_, share.link), share.fraction});
      }
      add_flow(plan, pair.first, pair.second, bytes, std::move(path));
      plan.latency = later_of(plan.latency, network_.link_latency * (2LL * route.hops) +
                                                network_.nvlink_latency * (route.hops - 1));
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

  int nics_;
  DirectConnect topology_;
  LinkId first_link_;
};

class Mixnet final : public ServerLevelFabric {
 public:
  Mixnet(const Study& study, const FabricSpec& spec, const Placement& placement)
      : ServerLevelFabric(study, placement),
        eps_nics_(study.cluster.nics_per_server - spec.mixnet.alpha),
        eps_(table_, placement.servers(), study.cluster.nic_rate * eps_nics_),
        hops_(spec.switch_radix / 2 / std::max(1, eps_nics_), spec.switch_radix),
        region_servers_(placement.region_servers()),
        circuits_(table_.add(placement.regions() * region_servers_ * region_servers_,
                             study.cluster.nic_rate)) {
    CHECK(eps_nics_ > 0, "a server keeps at least one electrical NIC");
  }

  int packet_nics() const override { return eps_nics_; }
  bool has_circuits() const override { return region_servers_ > 1; }

  TransferPlan route(std::span<const Message> messages) const override {
    TransferPlan plan;
    for (const auto& [pair, bytes] : between_servers(messages, plan)) {
      add_electrical(plan, pair.first, pair.second, bytes);
    }
    return plan;
  }

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
        add_electrical(plan, base + i, base + j, at(wiring.eps));
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

  void add_electrical(TransferPlan& plan, int src, int dst, Bytes bytes) const {
    if (bytes.count() > 0) {
      add_flow(plan, src, dst, bytes, {{eps_.out(src)}, {eps_.in(dst)}});
      plan.latency = later_of(plan.latency, network_.link_latency * hops_.between(src, dst));
    }
  }

  void add_optical(TransferPlan& plan, int region, std::pair<int, int> pair, Bytes bytes,
                   const Wiring& wiring) const {
    if (bytes.count() > 0) {
      const int base = placement_.first_server(region);
      add_flow(plan, base + pair.first, base + pair.second, bytes,
               {circuit(region, pair.first, pair.second, wiring)});
      plan.latency = later_of(plan.latency, network_.link_latency * 2);
    }
  }

  void add_relay(TransferPlan& plan, int region, const RelayShare& relay, Bytes bytes,
                 const Wiring& wiring) const {
    if (bytes.count() > 0) {
      const int base = placement_.first_server(region);
      add_flow(plan, base + relay.src, base + relay.dst, bytes,
               {circuit(region, relay.src, relay.via, wiring),
                {pool_.in(base + relay.via)},
                {pool_.out(base + relay.via)},
                circuit(region, relay.via, relay.dst, wiring)});
      plan.latency = later_of(plan.latency, network_.link_latency * 4 + network_.nvlink_latency);
    }
  }

  int eps_nics_;
  Ports eps_;
  TreeHops hops_;
  int region_servers_;
  LinkId circuits_;
};

}  // namespace

std::unique_ptr<Fabric> make_topoopt(const Study& study, const Placement& placement,
                                     DirectConnect topology) {
  return std::make_unique<TopoOpt>(study, placement, std::move(topology));
}

std::unique_ptr<Fabric> make_mixnet(const Study& study, const FabricSpec& spec,
                                    const Placement& placement) {
  return std::make_unique<Mixnet>(study, spec, placement);
}

}  // namespace mixnet::sim
