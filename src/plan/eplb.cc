#include "plan/eplb.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

namespace mixnet::plan {
namespace {

// Loads in units of 2^-32: exact to far less than a token, and sums of 64-bit counts fit.
__extension__ using Fine = __int128;
constexpr int kFineBits = 32;

struct Shape {
  std::size_t experts = 0;
  std::size_t slots = 0;
  std::size_t groups = 1;
  std::size_t nodes = 1;
  std::size_t gpus = 1;
};

// Item i belongs at place bin[i] * (n / m) + rank[i]; returns these places.
std::vector<std::size_t> pack(const std::vector<Fine>& weights, std::size_t bins) {
  const std::size_t n = weights.size();
  const std::size_t room = n / bins;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (room == 1) {
    return order;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&weights](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  // Bins with room, the lightest first, then the lowest.
  using Bin = std::pair<Fine, std::size_t>;
  std::priority_queue<Bin, std::vector<Bin>, std::greater<>> lightest;
  for (std::size_t b = 0; b < bins; ++b) {
    lightest.push({0, b});
  }
  std::vector<std::size_t> filled(bins, 0);
  std::vector<std::size_t> place(n);
  for (const std::size_t item : order) {
    const auto [load, bin] = lightest.top();
    lightest.pop();
    place[item] = bin * room + filled[bin]++;
    if (filled[bin] < room) {
      lightest.push({load + weights[item], bin});
    }
  }
  return place;
}

std::vector<std::size_t> inverse(const std::vector<std::size_t>& places) {
  std::vector<std::size_t> result(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    result[places[i]] = i;
  }
  return result;
}

struct Copies {
  std::vector<std::size_t> expert;  // of every copy
  std::vector<std::size_t> rank;    // of a copy among those of its expert
  std::vector<int64_t> count;       // of every expert
};

Copies replicate(const std::vector<int64_t>& weights, std::size_t slots) {
  const std::size_t n = weights.size();
  Copies copies;
  copies.expert.resize(n);
  std::iota(copies.expert.begin(), copies.expert.end(), std::size_t{0});
  copies.rank.assign(n, 0);
  copies.count.assign(n, 1);
  const auto lighter = [&](std::size_t a, std::size_t b) {
    // weight / count compared without division; of equal ones the lower index comes first
    const Fine of_a = static_cast<Fine>(weights[a]) * copies.count[b];
    const Fine of_b = static_cast<Fine>(weights[b]) * copies.count[a];
    return of_a != of_b ? of_a < of_b : a > b;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(lighter)> queue(
      lighter, copies.expert);
  while (copies.expert.size() < slots) {
    const std::size_t heaviest = queue.top();
    queue.pop();
    copies.expert.push_back(heaviest);
    copies.rank.push_back(static_cast<std::size_t>(copies.count[heaviest]++));
    queue.push(heaviest);
  }
  return copies;
}

// Experts in the order in which nodes hold them.
std::vector<std::size_t> experts_by_node(std::span<const int64_t> weight, const Shape& shape) {
  const std::size_t size = shape.experts / shape.groups;
  std::vector<Fine> group(shape.groups, 0);
  for (std::size_t e = 0; e < shape.experts; ++e) {
    group[e / size] += weight[e];
  }
  const std::vector<std::size_t> group_at = inverse(pack(group, shape.nodes));
  std::vector<std::size_t> experts;
  experts.reserve(shape.experts);
  for (const std::size_t g : group_at) {
    for (std::size_t k = 0; k < size; ++k) {
      experts.push_back(g * size + k);
    }
  }
  return experts;
}

struct LayerMap {
  std::vector<int> expert;  // of every slot
  std::vector<int> rank;
  std::vector<int> count;  // of every expert
};

LayerMap balance_layer(std::span<const int64_t> weight, const Shape& shape) {
  const std::vector<std::size_t> experts = experts_by_node(weight, shape);
  const std::size_t node_experts = shape.experts / shape.nodes;
  LayerMap map;
  map.count.assign(shape.experts, 0);
  for (std::size_t node = 0; node < shape.nodes; ++node) {
    const std::span<const std::size_t> own(experts.data() + node * node_experts, node_experts);
    std::vector<int64_t> loads;
    loads.reserve(node_experts);
    for (const std::size_t e : own) {
      loads.push_back(weight[e]);
    }
    const Copies copies = replicate(loads, shape.slots / shape.nodes);
    std::vector<Fine> pieces;
    pieces.reserve(copies.expert.size());
    for (const std::size_t e : copies.expert) {
      pieces.push_back((static_cast<Fine>(loads[e]) << kFineBits) / copies.count[e]);
    }
    for (const std::size_t copy : inverse(pack(pieces, shape.gpus / shape.nodes))) {
      map.expert.push_back(static_cast<int>(own[copies.expert[copy]]));
      map.rank.push_back(static_cast<int>(copies.rank[copy]));
    }
    for (std::size_t e = 0; e < node_experts; ++e) {
      map.count[own[e]] = static_cast<int>(copies.count[e]);
    }
  }
  return map;
}

Status check(const Matrix<int64_t>& weight, const Shape& shape) {
  if (weight.empty()) {
    return Error{"there are no loads: give at least one layer of one expert", ""};
  }
  const int64_t least = *std::min_element(weight.cells().begin(), weight.cells().end());
  if (least < 0) {
    return Error{fmt::format("a load is {}: loads are counts of 0 or more", least), ""};
  }
  if (shape.slots < shape.experts) {
    return Error{fmt::format("{} slots do not hold {} experts: give at least {} slots", shape.slots,
                             shape.experts, shape.experts),
                 ""};
  }
  if (shape.experts % shape.groups != 0) {
    return Error{fmt::format("EPLB needs groups of equal size, and {} experts do not divide into "
                             "{} groups: give a divisor of {}, or use the policy nic-aware",
                             shape.experts, shape.groups, shape.experts),
                 ""};
  }
  if (shape.gpus % shape.nodes != 0) {
    return Error{fmt::format("EPLB needs nodes of equal size, and {} GPUs do not divide over {} "
                             "nodes: give a multiple of {}, or use the policy nic-aware",
                             shape.gpus, shape.nodes, shape.nodes),
                 ""};
  }
  if (shape.slots % shape.gpus != 0) {
    const int fewer = shape.slots / shape.gpus * shape.gpus;
    const std::string fitting = fewer > 0 && static_cast<std::size_t>(fewer) >= shape.experts
                                    ? fmt::format("{} or {}", fewer, fewer + shape.gpus)
                                    : std::to_string(fewer + shape.gpus);
    return Error{fmt::format("EPLB needs equally many slots per GPU, and {} slots do not divide "
                             "over {} GPUs: give {} slots, or use the policy nic-aware",
                             shape.slots, shape.gpus, fitting),
                 ""};
  }
  return {};
}

void add_layer(EplbPlan& plan, std::size_t layer, const LayerMap& map) {
  std::copy(map.expert.begin(), map.expert.end(), plan.phy2log.row(layer).begin());
  std::copy(map.count.begin(), map.count.end(), plan.logcnt.row(layer).begin());
}

}  // namespace

Result<EplbPlan> rebalance_experts(const Matrix<int64_t>& weight, int num_replicas, int num_groups,
                                   int num_nodes, int num_gpus) {
  if (std::min({num_replicas, num_groups, num_nodes, num_gpus}) < 1) {
    return Error{"replicas, groups, nodes and GPUs are counts of 1 or more", ""};
  }
  Shape shape{weight.cols(), static_cast<std::size_t>(num_replicas),
              static_cast<std::size_t>(num_groups), static_cast<std::size_t>(num_nodes),
              static_cast<std::size_t>(num_gpus)};
  if (Status s = check(weight, shape); !s) {
    return s.error();
  }
  EplbPlan plan;
  plan.hierarchical = shape.groups % shape.nodes == 0;
  if (!plan.hierarchical) {
    plan.warning = fmt::format(
        "{} group{} cannot be divided over {} nodes, so the global policy was used, which ignores "
        "nodes and groups: give a number of groups that is a multiple of {} for the hierarchical "
        "policy",
        num_groups, num_groups == 1 ? "" : "s", num_nodes, num_nodes);
    shape.groups = 1;
    shape.nodes = 1;
  }
  plan.phy2log = Matrix<int>(weight.rows(), shape.slots);
  plan.logcnt = Matrix<int>(weight.rows(), shape.experts);
  std::vector<LayerMap> maps;
  int most = 0;
  for (std::size_t l = 0; l < weight.rows(); ++l) {
    maps.push_back(balance_layer(weight.row(l), shape));
    add_layer(plan, l, maps.back());
    most = std::max(most, *std::max_element(maps.back().count.begin(), maps.back().count.end()));
  }
  for (const LayerMap& map : maps) {
    Matrix<int> slots_of(shape.experts, static_cast<std::size_t>(most), -1);
    for (std::size_t p = 0; p < shape.slots; ++p) {
      slots_of(static_cast<std::size_t>(map.expert[p]), static_cast<std::size_t>(map.rank[p])) =
          static_cast<int>(p);
    }
    plan.log2phy.push_back(std::move(slots_of));
  }
  return plan;
}

Result<std::vector<int>> eplb_layer(const std::vector<int64_t>& loads, int slots, int groups,
                                    int nodes, int gpus) {
  Matrix<int64_t> weight(1, loads.size());
  std::copy(loads.begin(), loads.end(), weight.row(0).begin());
  const Result<EplbPlan> plan = rebalance_experts(weight, slots, groups, nodes, gpus);
  if (!plan.ok()) {
    return plan.error();
  }
  const auto row = plan->phy2log.row(0);
  return std::vector<int>(row.begin(), row.end());
}

}  // namespace mixnet::plan
