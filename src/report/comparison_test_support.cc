#include "report/comparison_test_support.h"

#include <cstddef>
#include <utility>

namespace mixnet::report {
namespace {

constexpr std::size_t kServers = 8;

SimTime& on_path(FabricResult& fabric, Activity activity) {
  return fabric.critical_path[static_cast<int>(activity)];
}

void set_compute(SimTime (&path)[kActivityCount]) {
  const std::pair<Activity, int> compute_ms[] = {
      {Activity::kAttention, 2496}, {Activity::kGate, 12},     {Activity::kExpert, 4736},
      {Activity::kAddNorm, 64},     {Activity::kDense, 180},   {Activity::kTensor, 410},
      {Activity::kPipeline, 855},   {Activity::kGradient, 150}};
  for (const auto& [activity, ms] : compute_ms) {
    path[static_cast<int>(activity)] = SimTime::from_ms(ms);
  }
}

DemandMatrix demand() {
  DemandMatrix tokens(kServers, kServers);
  for (std::size_t from = 0; from < kServers; ++from) {
    for (std::size_t to = 0; to < kServers; ++to) {
      // Server 0 and 3 host popular experts; sources differ a little.
      const std::size_t popularity = to == 0 ? 9700 : (to == 3 ? 6200 : 900 + 350 * to);
      tokens(from, to) = static_cast<double>(popularity + 53 * ((3 * from + 5 * to) % 7));
    }
  }
  return tokens;
}

Matrix<int> circuits() {
  Matrix<int> pairs(kServers, kServers);
  for (std::size_t a = 0; a < kServers; ++a) {
    for (std::size_t b = a + 1; b < kServers; ++b) {
      const int count = a + b == 7 ? 0 : (a == 0 && b == 3 ? 2 : 1);
      pairs(a, b) = count;
      pairs(b, a) = count;
    }
  }
  return pairs;
}

void add_timeline(FabricResult& fabric) {
  for (const char* server : {"server 0", "server 1"}) {
    for (const char* lane : {"gpu 0", "gpu 1", "eps nic 0", "ocs nic 0"}) {
      fabric.lanes.push_back({server, lane});
    }
  }
  const auto add = [&](int lane, Activity activity, const char* label, int start_us, int us) {
    fabric.spans.push_back(
        {lane, activity, label, SimTime::from_us(start_us), SimTime::from_us(us)});
  };
  for (int server = 0; server < 2; ++server) {
    const int first = 4 * server;
    add(first, Activity::kAttention, "attention L0 mb0", 0, 78'000);
    add(first + 1, Activity::kAttention, "attention L0 mb0", 0, 78'500);
    add(first + 3, Activity::kSwitching, "switch L0", 78'500, 25'000);
    add(first + 3, Activity::kAllToAll, "dispatch L0 mb0", 103'500, 61'000);
    add(first + 2, Activity::kAllToAll, "dispatch L0 mb0", 103'500, 61'000);
    add(first + 2, Activity::kPipeline, "activations mb0", 120'000, 9'000);  // overlaps
    add(first, Activity::kExpert, "experts L0 mb0", 164'500, 148'000);
    add(first + 1, Activity::kExpert, "experts L0 mb0", 164'500, 140'250);
  }
}

struct Figures {
  const char* name;
  const char* kind;
  int all_to_all_ms;
  int exposed_ms;
  int switches;
  int switching_total_ms;
  double cost_usd;
};

FabricResult fabric_of(const Figures& figures) {
  FabricResult fabric;
  fabric.name = figures.name;
  fabric.kind = figures.kind;
  set_compute(fabric.critical_path);
  on_path(fabric, Activity::kAllToAll) = SimTime::from_ms(figures.all_to_all_ms);
  on_path(fabric, Activity::kSwitching) = SimTime::from_ms(figures.exposed_ms);
  for (const SimTime part : fabric.critical_path) {
    fabric.iteration += part;
  }
  fabric.all_to_all = SimTime::from_ms(figures.all_to_all_ms);
  fabric.exposed_switching = SimTime::from_ms(figures.exposed_ms);
  fabric.switches = figures.switches;
  fabric.switching_total = SimTime::from_ms(figures.switching_total_ms);
  fabric.mean_all_to_all = SimTime::from_us(figures.all_to_all_ms * 1000 / 512);
  fabric.cost_usd = figures.cost_usd;
  fabric.traffic = {Bytes(17'600'000'000'000), Bytes(8'800'000'000'000), Bytes(7'700'000'000'000),
                    Bytes(412'000'000'000), Bytes(1'250'000'000'000)};
  fabric.region_demand = demand();
  add_timeline(fabric);
  return fabric;
}

}  // namespace

Comparison sample_comparison() {
  Comparison comparison;
  set_compute(comparison.critical_path_bound);
  comparison.critical_path_bound[static_cast<int>(Activity::kAllToAll)] = SimTime::from_ms(1200);
  for (const SimTime part : comparison.critical_path_bound) {
    comparison.bound += part;
  }
  const Figures all[] = {
      {"fat-tree", "fat-tree", 1290, 0, 0, 0, 2'906'250},
      {"fat-tree-oversubscribed", "fat-tree-oversubscribed", 3560, 0, 0, 0, 1'893'000},
      {"rail-optimized", "rail-optimized", 1340, 0, 0, 0, 2'906'250},
      {"topoopt", "topoopt", 4020, 0, 0, 0, 616'500},
      {"mixnet", "mixnet", 1460, 800, 64, 1600, 1'269'500},
      {"mixnet-never", "mixnet", 2210, 0, 0, 0, 1'269'500},
      {"mixnet-relink", "mixnet", 1460, 30'400, 64, 364'480, 1'269'500}};
  for (const Figures& figures : all) {
    FabricResult fabric = fabric_of(figures);
    if (fabric.kind == "mixnet") {
      fabric.region_circuits = circuits();
    }
    comparison.fabrics.push_back(std::move(fabric));
  }
  const FabricResult base = comparison.fabrics.front();
  for (FabricResult& fabric : comparison.fabrics) {
    fabric.perf_per_dollar =
        base.iteration.seconds() * base.cost_usd / (fabric.iteration.seconds() * fabric.cost_usd);
  }
  comparison.notes = {
      "Congestion control, packet loss and retransmission are not modelled by the fluid network.",
      "Prices are list prices of 2024 & exclude power, racks and installation."};
  return comparison;
}

Comparison bare_comparison() {
  Comparison comparison;
  FabricResult fabric;
  fabric.name = "fat-tree";
  fabric.kind = "fat-tree";
  fabric.iteration = SimTime::from_ms(250);
  on_path(fabric, Activity::kDense) = fabric.iteration;
  comparison.fabrics.push_back(std::move(fabric));
  return comparison;
}

}  // namespace mixnet::report
