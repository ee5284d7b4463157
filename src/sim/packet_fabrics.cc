// Packet switches with NICs pinned to ranks, and the ideal network.
#include <algorithm>
#include <map>

#include "core/workload.h"
#include "sim/fabric.h"
#include "sim/host_ports.h"

namespace mixnet::sim {
namespace {

// What the fabrics with per-rank NICs share: NVLink inside a server, NIC ports outside.
class RankLevelFabric : public Fabric {
 public:
  RankLevelFabric(const Study& study, const Placement& placement)
      : network_(study.network),
        placement_(placement),
        nvlink_(table_, placement.ranks(), nvlink_rate(study, placement.gpus_per_rank())),
        ports_(table_, study, placement) {}

  const std::vector<BitRate>& links() const override { return table_.capacity(); }

  TransferPlan route(std::span<const Message> messages) const override {
    TransferPlan plan;
    plan.flows.reserve(messages.size());
    for (const Message& m : messages) {
      if (m.src_rank == m.dst_rank || m.bytes.count() == 0) {
        continue;
      }
      if (placement_.server_of(m.src_rank) == placement_.server_of(m.dst_rank)) {
        plan.flows.push_back({{{nvlink_.out(m.src_rank)}, {nvlink_.in(m.dst_rank)}}, m.bytes});
        plan.latency = later_of(plan.latency, network_.nvlink_latency);
      } else {
        add_network_flow(plan, m);
      }
    }
    return plan;
  }

 protected:
  virtual void add_network_flow(TransferPlan& plan, const Message& message) const = 0;
  int group(int rank) const { return placement_.nic_group_of_slot(placement_.slot_of(rank)); }

  NetworkSettings network_;
  Placement placement_;
  LinkTable table_;
  Ports nvlink_;
  NicPorts ports_;
};

// Ideal spraying makes a non-blocking core invisible: only NIC ports and, where they are thinner,
// leaf uplinks constrain a flow.
class PinnedTree final : public RankLevelFabric {
 public:
  PinnedTree(const Study& study, const FabricSpec& spec, const Placement& placement)
      : RankLevelFabric(study, placement),
        hops_(servers_per_leaf(study.cluster.nics_per_server, spec), spec.switch_radix),
        thin_(spec.oversubscription > 1),
        leaf_(table_, hops_.leaf(placement.servers() - 1) + 1, leaf_uplink(study.cluster, spec)) {}

 private:
  void add_network_flow(TransferPlan& plan, const Message& m) const override {
    const int src = placement_.server_of(m.src_rank);
    const int dst = placement_.server_of(m.dst_rank);
    FlowClass flow{{{ports_.up(src, group(m.src_rank))}, {ports_.down(dst, group(m.dst_rank))}},
                   wire_bytes(m.bytes, network_)};
    if (thin_ && hops_.leaf(src) != hops_.leaf(dst)) {
      flow.path.push_back({leaf_.out(hops_.leaf(src))});
      flow.path.push_back({leaf_.in(hops_.leaf(dst))});
    }
    plan.flows.push_back(std::move(flow));
    plan.latency = later_of(plan.latency, network_.link_latency * hops_.between(src, dst));
  }

  TreeHops hops_;
  bool thin_;
  Ports leaf_;
};

// NIC group g of every server hangs on rail g. Traffic to a rank behind another NIC group first
// crosses NVLink to the local rank on the destination's rail, so that it stays on one rail.
class PinnedRails final : public RankLevelFabric {
 public:
  PinnedRails(const Study& study, const FabricSpec& spec, const Placement& placement)
      : RankLevelFabric(study, placement),
        // A leaf serves one rail: half of its ports face as many servers.
        hops_(spec.switch_radix / 2 / placement.nics_per_group(), spec.switch_radix) {}

 private:
  void add_network_flow(TransferPlan& plan, const Message& m) const override {
    const int src = placement_.server_of(m.src_rank);
    const int dst = placement_.server_of(m.dst_rank);
    const int slot = placement_.slot_of(m.dst_rank);
    const int rail = placement_.nic_group_of_slot(slot);
    FlowClass flow{{{ports_.up(src, rail)}, {ports_.down(dst, rail)}},
                   wire_bytes(m.bytes, network_)};
    SimTime latency = network_.link_latency * hops_.between(src, dst);
    if (rail != group(m.src_rank)) {
      flow.path.push_back({nvlink_.out(m.src_rank)});
      flow.path.push_back({nvlink_.in(src * placement_.ranks_per_server() + slot)});
      latency += network_.nvlink_latency;
    }
    plan.flows.push_back(std::move(flow));
    plan.latency = later_of(plan.latency, latency);
  }

  TreeHops hops_;
};

// The lower bound: a set of messages takes exactly the time of its busiest server side with all
// NICs of the server pooled, or of its busiest NVLink port, and never meets other traffic. No
// header is charged and the latency is the least that any fabric has.
class Ideal final : public Fabric {
 public:
  Ideal(const Study& study, const Placement& placement)
      : network_(study.network),
        placement_(placement),
        server_rate_(study.cluster.nic_rate * study.cluster.nics_per_server),
        rank_rate_(nvlink_rate(study, placement.gpus_per_rank())) {}

  const std::vector<BitRate>& links() const override { return no_links_; }

  TransferPlan route(std::span<const Message> messages) const override {
    Loads server;
    Loads rank;
    TransferPlan plan;
    plan.fixed = SimTime();
    for (const Message& m : messages) {
      if (m.src_rank == m.dst_rank || m.bytes.count() == 0) {
        continue;
      }
      const int src = placement_.server_of(m.src_rank);
      const int dst = placement_.server_of(m.dst_rank);
      const Bytes load =
          src == dst ? rank.add(m.src_rank, m.dst_rank, m.bytes) : server.add(src, dst, m.bytes);
      plan.fixed =
          later_of(*plan.fixed, transfer_time(load, src == dst ? rank_rate_ : server_rate_));
      plan.latency =
          later_of(plan.latency, src == dst ? network_.nvlink_latency : network_.link_latency * 2);
    }
    return plan;
  }

 private:
  // Bytes out of and into each index.
  struct Loads {
    std::map<int, Bytes> out;
    std::map<int, Bytes> in;
    // Returns the larger of the two sums that grew.
    Bytes add(int src, int dst, Bytes bytes) {
      return std::max(out[src] += bytes, in[dst] += bytes);
    }
  };

  NetworkSettings network_;
  Placement placement_;
  BitRate server_rate_;
  BitRate rank_rate_;
  std::vector<BitRate> no_links_;
};

}  // namespace

std::unique_ptr<Fabric> make_ideal(const Study& study, const Placement& placement) {
  return std::make_unique<Ideal>(study, placement);
}

std::unique_ptr<Fabric> make_pinned_tree(const Study& study, const FabricSpec& spec,
                                         const Placement& placement) {
  return std::make_unique<PinnedTree>(study, spec, placement);
}

std::unique_ptr<Fabric> make_pinned_rails(const Study& study, const FabricSpec& spec,
                                          const Placement& placement) {
  return std::make_unique<PinnedRails>(study, spec, placement);
}

}  // namespace mixnet::sim
