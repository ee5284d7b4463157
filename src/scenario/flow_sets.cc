#include "scenario/flow_sets.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/check.h"
#include "scenario/python_random.h"

namespace mixnet::scenario {
namespace {

// The seeds with which the published sets were drawn.
constexpr uint32_t kPermutationSeed = 1;
constexpr uint32_t kRandomSeed = 2;
constexpr uint32_t kMoeSeed = 7;

constexpr int32_t kMoeGroup = 32;  // hosts

Flow flow_between(int32_t source, int32_t destination, int64_t bytes) {
  return Flow{source, destination, SimTime(), Bytes(bytes)};
}

bool has_fixed_point(const std::vector<int32_t>& map) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i] == static_cast<int32_t>(i)) {
      return true;
    }
  }
  return false;
}

// Appends the flows of the group that starts at host `first`.
void append_moe_group(PythonRandom& random, int32_t first, std::vector<Flow>& flows) {
  constexpr double mean_bytes = 262144;
  constexpr double grain = 4096;
  std::vector<double> popularity;
  for (int r = 1; r <= kMoeGroup; ++r) {
    popularity.push_back(1 / std::pow(r, 1.2));
  }
  random.shuffle(popularity);
  double sum = 0;
  for (const double w : popularity) {
    sum += w;
  }
  for (int32_t i = 0; i < kMoeGroup; ++i) {
    for (int32_t j = 0; j < kMoeGroup; ++j) {
      if (i == j) {
        continue;
      }
      const double share = mean_bytes * kMoeGroup * popularity[static_cast<std::size_t>(j)] / sum;
      const double grains = std::floor(share * random.uniform(0.8, 1.2) / grain);
      flows.push_back(flow_between(first + i, first + j, static_cast<int64_t>(grain * grains)));
    }
  }
}

}  // namespace

FlowSet all_to_all_flows(int32_t hosts, Bytes size) {
  FlowSet set{hosts, {}};
  set.flows.reserve(static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts - 1));
  for (int32_t s = 0; s < hosts; ++s) {
    for (int32_t k = 1; k < hosts; ++k) {
      set.flows.push_back(flow_between(s, (s + k) % hosts, size.count()));
    }
  }
  return set;
}

FlowSet permutation_flows(int32_t hosts) {
  CHECK(hosts >= 2, "one host cannot send to another");
  PythonRandom random(kPermutationSeed);
  std::vector<int32_t> map(static_cast<std::size_t>(hosts));
  do {
    std::iota(map.begin(), map.end(), 0);
    random.shuffle(map);
  } while (has_fixed_point(map));
  FlowSet set{hosts, {}};
  for (int32_t i = 0; i < hosts; ++i) {
    set.flows.push_back(flow_between(i, map[static_cast<std::size_t>(i)], 2'000'000));
  }
  return set;
}

FlowSet random_flows(int32_t hosts, int32_t fan_out) {
  PythonRandom random(kRandomSeed);
  FlowSet set{hosts, {}};
  for (int32_t s = 0; s < hosts; ++s) {
    for (const uint32_t draw :
         random.sample(static_cast<uint32_t>(hosts - 1), static_cast<uint32_t>(fan_out))) {
      const auto other = static_cast<int32_t>(draw);
      set.flows.push_back(flow_between(s, other >= s ? other + 1 : other, int64_t{1} << 20));
    }
  }
  return set;
}

FlowSet moe_flows(int32_t groups, int32_t skipped_groups) {
  PythonRandom random(kMoeSeed);
  FlowSet set{groups * kMoeGroup, {}};
  for (int32_t g = 0; g < skipped_groups; ++g) {
    append_moe_group(random, 0, set.flows);
  }
  set.flows.clear();
  for (int32_t g = 0; g < groups; ++g) {
    append_moe_group(random, g * kMoeGroup, set.flows);
  }
  return set;
}

}  // namespace mixnet::scenario
