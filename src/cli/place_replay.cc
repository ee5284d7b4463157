#include "cli/place_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace mixnet::cli {
namespace {

std::vector<int64_t> loads_at(const RoutingView& trace, int64_t layer, int64_t from, int64_t to) {
  std::vector<int64_t> loads(static_cast<std::size_t>(trace.experts), 0);
  for (int64_t t = from; t < to; ++t) {
    for (int64_t source = 0; source < trace.sources; ++source) {
      const auto row = trace.row(t, layer, source);
      for (std::size_t x = 0; x < row.size(); ++x) {
        loads[x] += row[x];
      }
    }
  }
  return loads;
}

Result<std::vector<int>> plan_layer(const PlaceReplayOptions& options, std::vector<int64_t> loads,
                                    const std::vector<int>& current) {
  if (options.policy == plan::PlacePolicy::kEplb) {
    return plan::eplb_layer(loads, static_cast<int>(options.cluster.slots()), options.groups,
                            static_cast<int>(options.cluster.hosts()),
                            static_cast<int>(options.cluster.gpus()));
  }
  plan::PlaceProblem problem;
  problem.loads = std::move(loads);
  problem.groups = options.groups;
  problem.current = current;
  auto placed = plan::place_layer(options.cluster, problem, options.search);
  if (!placed.ok()) {
    return placed.error();
  }
  return std::move(placed->phy2log);
}

double over_mean(int64_t most, int64_t all, std::size_t gpus) {
  return all > 0 ? static_cast<double>(most) * static_cast<double>(gpus) / static_cast<double>(all)
                 : 1;
}

// Experts in order over all GPUs, the first ones taking one more where they do not divide.
double contiguous_imbalance(const std::vector<int64_t>& loads, std::size_t gpus) {
  const std::size_t each = loads.size() / gpus;
  const std::size_t larger = loads.size() % gpus;
  int64_t most = 0;
  std::size_t next = 0;
  for (std::size_t g = 0; g < gpus; ++g) {
    int64_t sum = 0;
    for (std::size_t n = 0; n < each + (g < larger ? 1 : 0); ++n) {
      sum += loads[next++];
    }
    most = std::max(most, sum);
  }
  return over_mean(most, std::accumulate(loads.begin(), loads.end(), int64_t{0}), gpus);
}

// Steps of one layer under one placement after another.
class LayerReplay {
 public:
  LayerReplay(const PlaceReplayOptions& options, int experts)
      : options_(options),
        shape_(shape_of(options.cluster, experts)),
        balancer_(shape_, options.swaps) {}

  const std::vector<int>& current() const { return phy2log_; }

  // Slots of the cluster, padded to those of the GPU with most.
  void place(std::vector<int> phy2log) {
    phy2log_ = std::move(phy2log);
    slots_.assign(
        static_cast<std::size_t>(shape_.gpus) * static_cast<std::size_t>(shape_.slots_per_gpu), -1);
    const std::vector<std::size_t> starts = options_.cluster.slot_starts();
    for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
      for (std::size_t s = starts[g]; s < starts[g + 1]; ++s) {
        slots_[g * static_cast<std::size_t>(shape_.slots_per_gpu) + (s - starts[g])] = phy2log_[s];
      }
    }
    tokens_.resize(slots_.size());
  }

  // Adds what one iteration meets to `point`; returns the swaps that it took.
  int64_t step(const std::vector<int64_t>& loads, PlaceReplayPoint& point) {
    const auto gpus = static_cast<std::size_t>(shape_.gpus);
    const int64_t all = std::accumulate(loads.begin(), loads.end(), int64_t{0});
    balancer_.split(slots_, loads, tokens_);
    const plan::BalancedStep step = balancer_.balance(slots_, tokens_);
    point.contiguous += contiguous_imbalance(loads, gpus);
    point.planned += over_mean(step.heaviest_before, all, gpus);
    point.swapped += over_mean(step.heaviest_after, all, gpus);
    return static_cast<int64_t>(step.swaps.size());
  }

 private:
  static plan::StepShape shape_of(const plan::PlaceCluster& cluster, int experts) {
    plan::StepShape shape;
    shape.gpus = static_cast<int>(cluster.gpus());
    shape.slots_per_gpu = *std::max_element(cluster.gpu_slots.begin(), cluster.gpu_slots.end());
    shape.gpus_per_host =
        static_cast<int>(std::count(cluster.gpu_host.begin(), cluster.gpu_host.end(), 0));
    shape.experts = experts;
    return shape;
  }

  const PlaceReplayOptions& options_;
  plan::StepShape shape_;
  plan::StepBalancer balancer_;
  std::vector<int> phy2log_;
  std::vector<int> slots_;
  std::vector<int64_t> tokens_;
};

// Swaps pair the GPUs of a host, hosts of one size after another.
Status check_hosts(const plan::PlaceCluster& cluster) {
  const std::size_t hosts = cluster.hosts();
  const auto gpus_of = [&](std::size_t host) {
    return std::count(cluster.gpu_host.begin(), cluster.gpu_host.end(), static_cast<int>(host));
  };
  for (std::size_t h = 1; h < hosts; ++h) {
    if (gpus_of(h) > gpus_of(0) || (h + 1 < hosts && gpus_of(h) < gpus_of(0))) {
      return Error{
          fmt::format("{} GPUs do not fill {} hosts of one size (the last may have fewer), "
                      "as swaps within hosts need: change the number of GPUs or nodes",
                      cluster.gpus(), hosts),
          "--gpus and --nodes"};
    }
  }
  return Status();
}

template <typename Selected>
PlaceReplayPoint mean_of(const std::vector<PlaceReplayPoint>& points, const Selected& selected) {
  PlaceReplayPoint sum{0, 0, 0, 0, 0};
  double count = 0;
  for (const PlaceReplayPoint& p : points) {
    if (selected(p)) {
      sum.iteration = p.iteration;
      sum.age = p.age;
      sum.contiguous += p.contiguous;
      sum.planned += p.planned;
      sum.swapped += p.swapped;
      ++count;
    }
  }
  sum.contiguous /= count;
  sum.planned /= count;
  sum.swapped /= count;
  return sum;
}

Status replay_layer(const RoutingView& trace, int64_t layer, const PlaceReplayOptions& options,
                    PlaceReplayResult& result) {
  LayerReplay replay(options, static_cast<int>(trace.experts));
  for (int64_t t = options.every; t < trace.iterations; ++t) {
    PlaceReplayPoint& point = result.points[static_cast<std::size_t>(t - options.every)];
    if (point.age == 0) {
      auto next =
          plan_layer(options, loads_at(trace, layer, t - options.every, t), replay.current());
      if (!next.ok()) {
        return next.error();
      }
      if (!replay.current().empty()) {
        result.moved += plan::moved_experts(options.cluster, replay.current(), *next);
      }
      replay.place(std::move(next).value());
      result.plans += layer == 0 ? 1 : 0;
    }
    result.swaps += replay.step(loads_at(trace, layer, t, t + 1), point);
  }
  return Status();
}

}  // namespace

Result<PlaceReplayResult> replay_placement(const RoutingView& trace,
                                           const PlaceReplayOptions& options) {
  if (trace.iterations <= options.every) {
    return Error{fmt::format("the trace has {} iterations: the first plan needs {} of them and "
                             "then one to meet; give a smaller --every",
                             trace.iterations, options.every),
                 ""};
  }
  if (Status status = check_hosts(options.cluster); !status) {
    return status.error();
  }
  PlaceReplayResult result;
  for (int64_t t = options.every; t < trace.iterations; ++t) {
    result.points.push_back({t, (t - options.every) % options.every, 0, 0, 0});
  }
  for (int64_t layer = 0; layer < trace.layers; ++layer) {
    if (Status status = replay_layer(trace, layer, options, result); !status) {
      return status.error();
    }
  }
  for (PlaceReplayPoint& point : result.points) {
    for (double* value : {&point.contiguous, &point.planned, &point.swapped}) {
      *value /= static_cast<double>(trace.layers);
    }
  }
  const int64_t oldest =
      std::max_element(result.points.begin(), result.points.end(),
                       [](const auto& a, const auto& b) { return a.age < b.age; })
          ->age;
  result.right_after = mean_of(result.points, [](const auto& p) { return p.age == 0; });
  result.before_next = mean_of(result.points, [=](const auto& p) { return p.age == oldest; });
  result.mean = mean_of(result.points, [](const auto&) { return true; });
  return result;
}

}  // namespace mixnet::cli
