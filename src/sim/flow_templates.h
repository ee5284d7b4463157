#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/flow_island.h"
#include "sim/fluid_network.h"

namespace mixnet::sim {

// The paths of a set of flows. Many templates differ in their sizes only and share one shape.
struct FlowShape {
  std::vector<int32_t> first_hop;  // flows + 1
  std::vector<Hop> hops;           // weights include the multiplicity
  std::vector<int32_t> links;      // all that occur, ascending

  std::size_t flows() const { return first_hop.size() - 1; }
  std::span<const Hop> path(std::size_t flow) const {
    const auto first = static_cast<std::size_t>(first_hop[flow]);
    return {hops.data() + first, static_cast<std::size_t>(first_hop[flow + 1]) - first};
  }
};

struct FlowTemplate {
  int32_t shape = -1;
  std::vector<int64_t> bytes;          // per flow
  std::optional<int64_t> duration_ps;  // alone, once it is solved; kNeverPs if it stands still
};

// Translates flow classes; checks that links are below `links` and numbers are positive.
FlowShape shape_of(const std::vector<FlowClass>& flows, std::size_t links);

// Templates and the shapes they share.
class TemplateStore {
 public:
  TemplateId define(const std::vector<FlowClass>& flows, std::size_t links);
  FlowTemplate& at(TemplateId id);
  const FlowShape& shape(const FlowTemplate& flows) const {
    return shapes_[static_cast<std::size_t>(flows.shape)];
  }
  std::size_t shape_count() const { return shapes_.size(); }

 private:
  std::vector<FlowTemplate> templates_;
  std::vector<FlowShape> shapes_;
  // unordered: only looked up, and a shape is stored once, so at most one entry matches.
  std::unordered_multimap<uint64_t, int32_t> shape_by_hash_;
};

}  // namespace mixnet::sim
