#include "cli/placement_gain.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/host_shape.h"
#include "core/random.h"
#include "plan/place.h"

namespace mixnet::cli {
namespace {

// GPUs of a server send alike.
Matrix<double> by_gpu(const plan::JointProblem& problem) {
  Matrix<double> sources(problem.gpus(), problem.sent.cols());
  for (std::size_t g = 0; g < sources.rows(); ++g) {
    const std::size_t server = g / static_cast<std::size_t>(problem.gpus_per_server);
    for (std::size_t x = 0; x < sources.cols(); ++x) {
      sources(g, x) = problem.sent(server, x) / problem.gpus_per_server;
    }
  }
  return sources;
}

// The NICs of a server are pooled: whatever its GPUs send may take any.
HostShape pooled_host(int gpus) {
  HostShape shape = plan::one_nic_per_gpu(gpus);
  std::fill(shape.nic_of_gpu.begin(), shape.nic_of_gpu.end(), 0);
  shape.nic_rate.resize(1);
  return shape;
}

Result<std::vector<int>> nic_aware(const plan::JointProblem& problem, int slots) {
  const Result<plan::PlaceCluster> cluster =
      plan::even_cluster(static_cast<int>(problem.gpus()), static_cast<int>(problem.servers()),
                         slots, pooled_host(problem.gpus_per_server));
  if (!cluster.ok()) {
    return cluster.error();
  }
  plan::PlaceProblem layer;
  for (std::size_t x = 0; x < problem.sent.cols(); ++x) {
    double sum = 0;
    for (std::size_t s = 0; s < problem.servers(); ++s) {
      sum += problem.sent(s, x);
    }
    layer.loads.push_back(std::llround(sum));
  }
  layer.sources = by_gpu(problem);
  Result<plan::LayerPlacement> placed = plan::place_layer(*cluster, layer, plan::PlaceOptions{});
  if (!placed.ok()) {
    return placed.error();
  }
  return std::move(placed->phy2log);
}

}  // namespace

Result<PlacementGain> placement_gain(const plan::JointProblem& problem, int slots) {
  std::vector<int> ordered;
  for (int s = 0; s < slots; ++s) {
    ordered.push_back(s % static_cast<int>(problem.sent.cols()));
  }
  Result<std::vector<int>> aware = nic_aware(problem, slots);
  if (!aware.ok()) {
    return aware.error();
  }
  PlacementGain gain;
  gain.wire_only = plan::wire_under(problem, ordered).wiring.completion;
  gain.place_then_wire =
      std::min(gain.wire_only, plan::wire_under(problem, *aware).wiring.completion);
  gain.plan = plan::place_and_wire(problem, {*aware, ordered});
  gain.joint = gain.plan.wiring.completion;
  // Every placement that was searched has the copies of one of the two.
  gain.bound = std::min(plan::any_placement_bound(problem, ordered),
                        plan::any_placement_bound(problem, *aware));
  return gain;
}

DemandMatrix spread_over_servers(const std::vector<double>& loads, std::size_t servers,
                                 double sigma, uint64_t seed) {
  RandomStream random(seed, "sources of experts");
  DemandMatrix sent(servers, loads.size());
  for (std::size_t x = 0; x < loads.size(); ++x) {
    double sum = 0;
    for (std::size_t s = 0; s < servers; ++s) {
      sent(s, x) = random.log_normal(0, sigma);
      sum += sent(s, x);
    }
    for (std::size_t s = 0; s < servers; ++s) {
      sent(s, x) *= loads[x] / sum;
    }
  }
  return sent;
}

}  // namespace mixnet::cli
