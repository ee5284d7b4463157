#pragma once

#include <vector>

#include "core/ids.h"
#include "core/study.h"
#include "sim/fluid_network.h"
#include "sim/placement.h"

namespace mixnet::sim {

// Hands out link ids in order and remembers the capacities.
class LinkTable {
 public:
  // Adds `count` links of one capacity; returns the id of the first.
  LinkId add(int count, BitRate capacity) {
    const LinkId first(static_cast<int32_t>(capacity_.size()));
    capacity_.resize(capacity_.size() + static_cast<std::size_t>(count), capacity);
    return first;
  }
  void set(LinkId link, BitRate capacity) {
    capacity_[static_cast<std::size_t>(link.value)] = capacity;
  }
  const std::vector<BitRate>& capacity() const { return capacity_; }

 private:
  std::vector<BitRate> capacity_;
};

inline LinkId offset(LinkId first, int by) { return LinkId(first.value + by); }

// NVLink capacity of `gpus` GPUs together, one direction.
BitRate nvlink_rate(const Study& study, int gpus);

// A port per index and direction, all of one capacity: the NVLink ports of ranks, the NIC pool of
// servers, the uplinks of leaves.
class Ports {
 public:
  Ports(LinkTable& table, int count, BitRate capacity)
      : out_(table.add(count, capacity)), in_(table.add(count, capacity)) {}
  LinkId out(int index) const { return offset(out_, index); }
  LinkId in(int index) const { return offset(in_, index); }

 private:
  LinkId out_;
  LinkId in_;
};

// NIC ports per NIC group of every server.
class NicPorts {
 public:
  NicPorts(LinkTable& table, const Study& study, const Placement& placement);
  LinkId up(int server, int group) const { return ports_.out(server * groups_ + group); }
  LinkId down(int server, int group) const { return ports_.in(server * groups_ + group); }

 private:
  int groups_;
  Ports ports_;
};

// Servers whose NICs (`nics` of each) share a leaf switch: half of its ports face down, or with r :
// 1 oversubscription r / (r + 1) of them.
int servers_per_leaf(int nics, const FabricSpec& spec);
// Capacity of all uplinks of one leaf.
BitRate leaf_uplink(const Cluster& cluster, const FabricSpec& spec);

// Links between two servers of a fat-tree whose leaves hold `servers_per_leaf`: 2 below one leaf,
// 4 inside a pod, 6 through the core.
class TreeHops {
 public:
  TreeHops(int servers_per_leaf, int switch_radix);
  int leaf(int server) const { return server / servers_per_leaf_; }
  int between(int a, int b) const;

 private:
  int servers_per_leaf_;
  int leaves_per_pod_;
};

}  // namespace mixnet::sim
