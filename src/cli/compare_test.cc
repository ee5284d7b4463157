#include "cli/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "report/comparison_json.h"

namespace mixnet::cli {
namespace {

Comparison run(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const auto scenario = scenario::read_scenario(
      std::string(MIXNET_SOURCE_DIR) + "/examples/" + name + ".toml", overrides);
  EXPECT_TRUE(scenario.ok()) << scenario.error().text();
  const auto routing = scenario::load_routing(*scenario);
  EXPECT_TRUE(routing.ok()) << routing.error().text();
  Result<Comparison> comparison = compare(*scenario, routing->view(), nullptr);
  EXPECT_TRUE(comparison.ok()) << comparison.error().text();
  return *std::move(comparison);
}

const FabricResult& fabric(const Comparison& c, const std::string& name) {
  for (const FabricResult& f : c.fabrics) {
    if (f.name == name) {
      return f;
    }
  }
  ADD_FAILURE() << "no fabric " << name;
  return c.fabrics.front();
}

void expect_sound(const Comparison& c) {
  EXPECT_EQ(fabric(c, "fat-tree").perf_per_dollar, 1.0);
  for (const FabricResult& f : c.fabrics) {
    EXPECT_GE(f.iteration, c.bound) << f.name;
    EXPECT_EQ(std::accumulate(std::begin(f.critical_path), std::end(f.critical_path), SimTime()),
              f.iteration)
        << f.name;
    EXPECT_GT(f.cost_usd, 0) << f.name;
    EXPECT_FALSE(f.spans.empty()) << f.name;
  }
}

class Example : public ::testing::TestWithParam<const char*> {};

TEST_P(Example, NoFabricBeatsTheBound) { expect_sound(run(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Small, Example,
                         ::testing::Values("prototype-32gpu", "mixtral-8x7b-256gpu",
                                           "mixtral-8x7b-128gpu-measured"));

TEST(Compare, PlacedExpertsShortenWhatTheyShould) {
  const Comparison c = run("olmoe-placement-64gpu");
  EXPECT_LT(fabric(c, "joint").iteration, fabric(c, "nic-aware").iteration);
  EXPECT_LT(fabric(c, "nic-aware").iteration, fabric(c, "fixed").iteration);
  EXPECT_LT(fabric(c, "fat-tree-nic-aware").iteration, fabric(c, "fat-tree").iteration);
  EXPECT_LT(fabric(c, "eplb").placement.imbalance, fabric(c, "fixed").placement.imbalance);
  EXPECT_EQ(fabric(c, "fixed").placement.moved, 0);
  EXPECT_GT(fabric(c, "joint").placement.moved_bytes.count(), 0);
  EXPECT_EQ(fabric(c, "joint-every-2").placement.plans, 2 * fabric(c, "joint").placement.plans);
  for (const FabricResult& f : c.fabrics) {
    EXPECT_GE(f.iteration, c.bound) << f.name;
  }
  const nlohmann::ordered_json config;
  EXPECT_EQ(report::json_text(report::comparison_json(c, config, "1")),
            report::json_text(report::comparison_json(run("olmoe-placement-64gpu"), config, "1")));
}

TEST(Compare, EqualScenariosGiveEqualBytes) {
  const nlohmann::ordered_json config;
  EXPECT_EQ(report::json_text(report::comparison_json(run("prototype-32gpu"), config, "1")),
            report::json_text(report::comparison_json(run("prototype-32gpu"), config, "1")));
}

// Both ends of the scale at which re-wiring can be worth its time: with instant switches and
// demand that changes, circuits that follow it are better than circuits that never move; with the
// re-link time of today's NICs they are far worse. A region of 8 servers with 6 circuits each: with
// fewer servers than circuits every pair has one and nothing would ever move.
TEST(Compare, RewiringPaysWhenItIsFree) {
  const Comparison c =
      run("mixtral-8x22b-1024gpu",
          {"model.layers=3", "parallelism.pp=1", "parallelism.dp=1", "parallelism.micro_batches=3",
           "cluster.servers=8", "routing.skew=1.0", "routing.drift=0.5", "mixnet.switch_time=0ms"});
  const FabricResult& free = fabric(c, "mixnet");
  const FabricResult& never = fabric(c, "mixnet-never");
  const FabricResult& relink = fabric(c, "mixnet-relink");
  EXPECT_GT(free.switches, 0);
  EXPECT_EQ(free.exposed_switching, SimTime());
  EXPECT_LT(free.all_to_all, never.all_to_all);
  EXPECT_EQ(relink.switches, free.switches);
  // Every switch but those hidden in part behind a backward pass waits its 5.67 s.
  EXPECT_GT(relink.iteration.seconds(), 0.9 * 5.67 * static_cast<double>(relink.switches));
}

// Decided while running, or circuit by circuit: sound, and explained.
TEST(Compare, DecidesWhenToRewire) {
  const Comparison c =
      run("mixtral-8x7b-drift-256gpu",
          {"model.layers=2", "parallelism.pp=1", "parallelism.dp=1", "parallelism.tp=8",
           "cluster.servers=8", "run.iterations=12",
           "fabric=[{name='fat-tree'}, {name='mixnet', cadence='auto', relink_time='connectx-6'}, "
           "{name='mixnet', label='partial', cadence='every', every=3, scope='partial'}]"});
  expect_sound(c);
  EXPECT_FALSE(fabric(c, "mixnet").cadence_explanation.empty());
  EXPECT_LT(fabric(c, "mixnet").exposed_switching.seconds(), 5.67) << "seconds are not worth it";
}

// Over iterations whose demand drifts: nothing is free of the bound, and going around dark circuits
// beats waiting seconds for them.
TEST(Compare, DriftingDemandOverIterations) {
  const Comparison c = run("mixtral-8x7b-drift-256gpu",
                           {"model.layers=2", "parallelism.pp=1", "parallelism.dp=1",
                            "cluster.servers=8", "run.iterations=12", "routing.drift=0.5"});
  expect_sound(c);
  ASSERT_EQ(c.bound_iterations.size(), 12U);
  for (const FabricResult& f : c.fabrics) {
    ASSERT_EQ(f.iterations.size(), 12U);
    for (std::size_t i = 0; i < f.iterations.size(); ++i) {
      EXPECT_GE(f.iterations[i].iteration, c.bound_iterations[i]) << f.name;
    }
    EXPECT_EQ(
        std::accumulate(std::begin(f.exposed_by_cause), std::end(f.exposed_by_cause), SimTime()),
        f.exposed_switching)
        << f.name;
  }
  EXPECT_EQ(fabric(c, "every-10-nic").switches, 1);
  EXPECT_GT(fabric(c, "every-10-nic").exposed_switching.seconds() * 12, 5);
  EXPECT_LT(fabric(c, "every-10-nic-detour").iteration, fabric(c, "every-10-nic").iteration);
  EXPECT_LT(fabric(c, "layer-nic-detour").iteration, fabric(c, "layer-nic").iteration);
}

TEST(Compare, RefusesWhatSimulatedTimeCannotHold) {
  const auto scenario =
      scenario::read_scenario(std::string(MIXNET_SOURCE_DIR) + "/examples/prototype-32gpu.toml",
                              {"mixnet.relink_time=86400s", "parallelism.micro_batches=1000"});
  ASSERT_TRUE(scenario.ok()) << scenario.error().text();
  const auto routing = scenario::load_routing(*scenario);
  ASSERT_TRUE(routing.ok());
  const Result<Comparison> comparison = compare(*scenario, routing->view(), nullptr);
  ASSERT_FALSE(comparison.ok());
  EXPECT_NE(comparison.error().message.find("beyond the range"), std::string::npos);
}

TEST(Compare, RefusesADirectTopologyOfOneNicEach) {
  const auto scenario = scenario::read_scenario(
      std::string(MIXNET_SOURCE_DIR) + "/examples/prototype-32gpu.toml",
      {"cluster.nics_per_server=1", "cluster.numa_nodes=1", "fabric=[{name='topoopt'}]"});
  ASSERT_FALSE(scenario.ok());
  EXPECT_NE(scenario.error().message.find("cannot be connected"), std::string::npos);
}

// The measured H800 layer: 78 ms of attention and 148 ms of experts in each of 32 layers, forward
// once and backward twice as long, 8 micro-batches through 4 stages (11 passes of 8 layers).
TEST(Compare, MeasuredLayerIsUsedUnchanged) {
  const Comparison c = run("mixtral-8x7b-128gpu-measured");
  const auto spent = [&](Activity a) {
    return c.critical_path_bound[static_cast<std::size_t>(a)].seconds();
  };
  EXPECT_NEAR(spent(Activity::kAttention), 11 * 8 * 3 * 0.078, 1e-9);
  EXPECT_NEAR(spent(Activity::kExpert), 11 * 8 * 3 * 0.148, 1e-9);
}

}  // namespace
}  // namespace mixnet::cli
