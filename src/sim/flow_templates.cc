#include "sim/flow_templates.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"

namespace mixnet::sim {
namespace {

uint64_t hash_of(const FlowShape& shape) {
  uint64_t h = shape.flows();
  const auto add = [&h](uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  };
  for (const int32_t first : shape.first_hop) {
    add(static_cast<uint64_t>(first));
  }
  for (const Hop& hop : shape.hops) {
    add(static_cast<uint64_t>(hop.link));
    add(std::bit_cast<uint64_t>(hop.weight));
  }
  return h;
}

bool same_paths(const FlowShape& a, const FlowShape& b) {
  return a.first_hop == b.first_hop && std::equal(a.hops.begin(), a.hops.end(), b.hops.begin(),
                                                  b.hops.end(), [](const Hop& x, const Hop& y) {
                                                    return x.link == y.link && x.weight == y.weight;
                                                  });
}

}  // namespace

FlowShape shape_of(const std::vector<FlowClass>& flows, std::size_t links) {
  FlowShape shape;
  shape.first_hop.reserve(flows.size() + 1);
  shape.first_hop.push_back(0);
  for (const FlowClass& flow : flows) {
    CHECK(flow.multiplicity > 0 && flow.bytes.count() >= 0, "a flow class has flows and a size");
    for (const LinkShare& share : flow.path) {
      CHECK(share.link.valid() && share.link.index() < links, "a path uses known links");
      CHECK(share.fraction > 0, "a flow loads every link of its path");
      const auto multiplicity = static_cast<double>(flow.multiplicity);
      shape.hops.push_back(Hop{share.link.value, share.fraction * multiplicity});
      shape.links.push_back(share.link.value);
    }
    shape.first_hop.push_back(static_cast<int32_t>(shape.hops.size()));
  }
  std::sort(shape.links.begin(), shape.links.end());
  shape.links.erase(std::unique(shape.links.begin(), shape.links.end()), shape.links.end());
  shape.links.shrink_to_fit();
  shape.hops.shrink_to_fit();
  return shape;
}

TemplateId TemplateStore::define(const std::vector<FlowClass>& flows, std::size_t links) {
  FlowShape shape = shape_of(flows, links);
  const uint64_t hash = hash_of(shape);
  FlowTemplate result;
  const auto [begin, end] = shape_by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (same_paths(shapes_[static_cast<std::size_t>(it->second)], shape)) {
      result.shape = it->second;
    }
  }
  if (result.shape < 0) {
    result.shape = static_cast<int32_t>(shapes_.size());
    shape_by_hash_.emplace(hash, result.shape);
    shapes_.push_back(std::move(shape));
  }
  result.bytes.reserve(flows.size());
  for (const FlowClass& flow : flows) {
    result.bytes.push_back(flow.bytes.count());
  }
  templates_.push_back(std::move(result));
  return static_cast<TemplateId>(templates_.size()) - 1;
}

FlowTemplate& TemplateStore::at(TemplateId id) {
  CHECK(id >= 0 && static_cast<std::size_t>(id) < templates_.size(), "an undefined template");
  return templates_[static_cast<std::size_t>(id)];
}

}  // namespace mixnet::sim
