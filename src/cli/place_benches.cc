#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/random.h"
#include "plan/eplb.h"
#include "plan/place.h"
#include "scenario/load_table.h"

namespace mixnet::cli {
namespace {

constexpr std::size_t kPlacedLayers = 58;
constexpr std::size_t kPlacedExperts = 256;

// Log-normal loads, sigma 1.
Matrix<int64_t> skewed_loads(std::size_t layers, std::size_t experts) {
  RandomStream random(1, "place bench");
  Matrix<int64_t> loads(layers, experts);
  for (int64_t& load : loads.cells()) {
    load = static_cast<int64_t>(1e5 * random.log_normal(0, 1));
  }
  return loads;
}

struct Shape {
  int slots = 0;
  int gpus = 0;
  int hosts = 1;
  int gpus_per_nic = 1;
};

// CPU time of a plan for all layers; the worst GPU ratio of ours and of EPLB.
Result<BenchFigure> run_place(const Matrix<int64_t>& loads, const Shape& shape, int64_t work,
                              std::optional<double> limit_s) {
  HostShape host;
  for (int g = 0; g < shape.gpus / shape.hosts; ++g) {
    host.nic_of_gpu.push_back(g / shape.gpus_per_nic);
  }
  host.nic_rate.assign(static_cast<std::size_t>(host.nic_of_gpu.back()) + 1,
                       BitRate::from_gbps(400));
  const Result<plan::PlaceCluster> cluster =
      plan::even_cluster(shape.gpus, shape.hosts, shape.slots, host);
  if (!cluster) {
    return cluster.error();
  }
  plan::PlaceOptions options;
  options.work = work;
  double worst = 0;
  double eplb = 0;
  double gap = 0;
  double receive = 0;
  int duplicates = 0;
  const double before_s = process_usage().cpu_s;
  for (std::size_t l = 0; l < loads.rows(); ++l) {
    plan::PlaceProblem problem;
    problem.loads.assign(loads.row(l).begin(), loads.row(l).end());
    const Result<plan::LayerPlacement> layer = plan::place_layer(*cluster, problem, options);
    if (!layer) {
      return layer.error();
    }
    worst = std::max(worst, layer->score.gpu);
    eplb = std::max(eplb, layer->eplb_gpu);
    gap = std::max(gap, layer->score.gpu / layer->bound);
    receive = std::max(receive, layer->score.nic_receive);
    duplicates += layer->score.duplicates;
  }
  BenchFigure figure;
  figure.cpu_s = process_usage().cpu_s - before_s;
  const double eplb_before_s = process_usage().cpu_s;
  const Result<plan::EplbPlan> map =
      plan::rebalance_experts(loads, shape.slots, 1, shape.hosts, shape.gpus);
  if (!map) {
    return map.error();
  }
  const double eplb_s = process_usage().cpu_s - eplb_before_s;
  figure.reference_cpu_s = limit_s;
  figure.against = limit_s ? "the time that a plan may take on one core"
                           : "EPLB: see eplb_worst_max_over_mean and eplb_cpu_s";
  figure.details = {{"layers", loads.rows()},
                    {"experts", loads.cols()},
                    {"slots", shape.slots},
                    {"gpus", shape.gpus},
                    {"worst_max_over_mean", worst},
                    {"worst_to_bound", gap},
                    {"worst_nic_receive", receive},
                    {"duplicates", duplicates},
                    {"eplb_worst_max_over_mean", eplb},
                    {"eplb_cpu_s", eplb_s}};
  return figure;
}

// Real loads; found from the source tree, as they are not part of the program.
Result<BenchFigure> run_olmoe(const Shape& shape) {
  const Result<Matrix<int64_t>> loads = scenario::read_loads("examples/data/olmoe_loads.csv");
  if (!loads) {
    return Error{loads.error().message + ": run this benchmark in the source tree",
                 loads.error().where};
  }
  return run_place(*loads, shape, plan::kDefaultPlaceWork, std::nullopt);
}

}  // namespace

std::vector<BenchCase> place_benches() {
  const Shape deepseek{288, 32, 4, 2};
  const std::string what = "58 layers, 256 experts, 288 slots, 32 GPUs in 4 hosts, ";
  return {
      {"place-greedy", what + "greedy start",
       [=] { return run_place(skewed_loads(kPlacedLayers, kPlacedExperts), deepseek, 0, 20e-3); }},
      {"place-search", what + "with search",
       [=] {
         return run_place(skewed_loads(kPlacedLayers, kPlacedExperts), deepseek,
                          plan::kDefaultPlaceWork, 200e-3);
       }},
      {"place-olmoe-72", "loads of OLMoE, 72 slots on 8 GPUs, against EPLB",
       [] {
         return run_olmoe(Shape{72, 8, 1, 1});
       }},
      {"place-olmoe-96", "loads of OLMoE, 96 slots on 16 GPUs in 2 hosts, against EPLB", [] {
         return run_olmoe(Shape{96, 16, 2, 1});
       }}};
}

}  // namespace mixnet::cli
