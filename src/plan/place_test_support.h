#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "core/random.h"
#include "plan/place.h"

// Inputs and independent evaluators for the tests of plan/place.
namespace mixnet::plan::test_support {

inline PlaceCluster flat(int gpus, int slots) {
  return even_cluster(gpus, 1, slots, one_nic_per_gpu(gpus)).value();
}

// `per_nic` GPUs share each NIC.
inline PlaceCluster with_hosts(int gpus, int hosts, int slots, int per_nic) {
  HostShape shape;
  const int own = (gpus + hosts - 1) / hosts;
  for (int g = 0; g < own; ++g) {
    shape.nic_of_gpu.push_back(g / per_nic);
  }
  shape.nic_rate.assign(static_cast<std::size_t>((own - 1) / per_nic + 1), BitRate::from_gbps(400));
  return even_cluster(gpus, hosts, slots, shape).value();
}

inline std::vector<int64_t> log_normal_loads(uint64_t seed, int experts, double sigma) {
  RandomStream random(seed, "place test");
  std::vector<int64_t> loads;
  for (int e = 0; e < experts; ++e) {
    loads.push_back(static_cast<int64_t>(1e5 * random.log_normal(0, sigma)));
  }
  return loads;
}

inline PlaceProblem problem_of(std::vector<int64_t> loads) {
  PlaceProblem problem;
  problem.loads = std::move(loads);
  return problem;
}

// The smallest possible load of the heaviest GPU, tokens, over all counts and all placements
// without an expert twice on a GPU, by enumeration. Slots per GPU <= experts.
class Enumeration {
 public:
  Enumeration(const PlaceCluster& cluster, const std::vector<int64_t>& loads)
      : cluster_(cluster), loads_(loads), counts_(loads.size(), 1) {
    choose_counts(0, static_cast<int>(cluster.slots() - loads.size()));
  }
  double optimum() const { return best_; }

 private:
  void choose_counts(std::size_t e, int left) {
    if (e + 1 == loads_.size()) {
      counts_[e] = 1 + left;
      if (counts_[e] <= static_cast<int>(cluster_.gpus())) {
        std::vector<int> slots = cluster_.gpu_slots;
        std::vector<double> gpu(cluster_.gpus(), 0);
        put(0, 0, counts_[0], slots, gpu);
      }
      return;
    }
    for (int extra = 0; extra <= left && extra < static_cast<int>(cluster_.gpus()); ++extra) {
      counts_[e] = 1 + extra;
      choose_counts(e + 1, left - extra);
    }
  }

  // Puts the `left` remaining slots of expert e on GPUs from g on.
  void put(std::size_t e, std::size_t g, int left, std::vector<int>& slots,
           std::vector<double>& gpu) {
    if (left == 0) {
      if (e + 1 == loads_.size()) {
        best_ = std::min(best_, *std::max_element(gpu.begin(), gpu.end()));
      } else {
        put(e + 1, 0, counts_[e + 1], slots, gpu);
      }
      return;
    }
    const double piece = static_cast<double>(loads_[e]) / counts_[e];
    for (std::size_t k = g; k < gpu.size(); ++k) {
      if (slots[k] > 0 && gpu[k] + piece < best_) {
        --slots[k];
        gpu[k] += piece;
        put(e, k + 1, left - 1, slots, gpu);
        gpu[k] -= piece;
        ++slots[k];
      }
    }
  }

  const PlaceCluster& cluster_;
  const std::vector<int64_t>& loads_;
  std::vector<int> counts_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace mixnet::plan::test_support
