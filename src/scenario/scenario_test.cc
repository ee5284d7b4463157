#include "scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "scenario/scenario_keys.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

const std::string kExamples = std::string(MIXNET_SOURCE_DIR) + "/examples/";

Scenario must_read(const std::string& path) {
  const Result<Scenario> scenario = read_scenario(path);
  EXPECT_TRUE(scenario.ok()) << scenario.error().text();
  return scenario.ok() ? *scenario : Scenario();
}

TEST(Scenario, PrototypeIsReadAsWritten) {
  const Scenario s = must_read(kExamples + "prototype-32gpu.toml");
  EXPECT_EQ(s.study.model.name, "mixtral-8x7b");
  EXPECT_EQ(s.study.model.layers, 7);
  EXPECT_EQ(s.study.model.expert_ffn, 14336);
  EXPECT_EQ(s.study.parallelism.gpus(), 32);
  EXPECT_EQ(s.study.cluster.gpu.bf16_tflops, 312);
  EXPECT_EQ(s.study.cluster.nics_per_server, 4);
  EXPECT_EQ(s.study.cluster.nic_rate, BitRate::from_gbps(100));
  EXPECT_EQ(s.study.compute.measured.expert, SimTime::from_ms(122));
  EXPECT_EQ(s.study.compute.measured.micro_batch_size, 16);
  EXPECT_TRUE(s.study.routing.counts_are_weights);
  EXPECT_TRUE(s.study.routing.repeat_layers);
  EXPECT_TRUE(std::filesystem::exists(s.routing.matrix));
  ASSERT_EQ(s.study.fabrics.size(), 7U);
  EXPECT_EQ(s.study.fabrics[1].oversubscription, 3);
  EXPECT_EQ(s.study.fabrics[4].mixnet.alpha, 3);
  EXPECT_EQ(s.study.fabrics[4].mixnet.switch_time.mean, SimTime::from_ps(46'750'000'000));
  EXPECT_EQ(s.study.fabrics[4].mixnet.relink_time.mean, SimTime());
  EXPECT_EQ(s.study.fabrics[5].name, "mixnet-never");
  EXPECT_EQ(s.study.fabrics[5].mixnet.cadence, Cadence::kOnce);
  EXPECT_EQ(s.study.fabrics[6].mixnet.relink_time.mean, SimTime::from_ms(5670));
  EXPECT_EQ(s.study.fabrics[6].mixnet.relink_time.p99, SimTime::from_ms(6330));
  EXPECT_EQ(s.study.fabrics[6].mixnet.cadence, Cadence::kLayer);
}

TEST(Scenario, EveryExampleIsRead) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
    // Files of other kinds (a live region, a deployment) have tests of their own.
    if (entry.path().extension() != ".toml" ||
        read_text_file(entry.path().string()).value().find("[[fabric]]") == std::string::npos) {
      continue;
    }
    ++examples;
    const Scenario s = must_read(entry.path().string());
    std::set<std::string> names;
    for (const FabricSpec& fabric : s.study.fabrics) {
      names.insert(fabric.name);
      const Result<FabricCost> cost = fabric_cost(fabric, s.study.cluster, s.prices);
      ASSERT_TRUE(cost.ok()) << cost.error().text();
      EXPECT_GT(cost->total_usd(), 0);
    }
    if (s.study.run.iterations == 1 && s.study.failures.empty()) {
      EXPECT_THAT(names, ::testing::UnorderedElementsAre("fat-tree", "fat-tree-oversubscribed",
                                                         "rail-optimized", "topoopt", "mixnet",
                                                         "mixnet-never", "mixnet-relink"));
    }
    EXPECT_GE(s.study.parallelism.micro_batches, s.study.parallelism.pp);
  }
  EXPECT_GE(examples, 5);
}

TEST(Scenario, EffectiveConfigIsTheSameTwiceAndHoldsNoAbsolutePath) {
  const std::string path = kExamples + "mixtral-8x7b-128gpu-measured.toml";
  const std::string first = effective_config(must_read(path)).dump(1);
  EXPECT_EQ(first, effective_config(must_read(path)).dump(1));
  EXPECT_EQ(first.find(MIXNET_SOURCE_DIR), std::string::npos);
  const auto json = nlohmann::json::parse(first);
  EXPECT_EQ(json["cluster"]["nic_rate_bps"], 400'000'000'000);
  EXPECT_EQ(json["routing"]["matrix"], "data/routing_matrix_8x8.txt");
  EXPECT_EQ(json["compute"]["measured"]["attention_s"], 0.078);
  EXPECT_EQ(json["fabrics"][6]["relink_time_s"], 5.67);
  EXPECT_EQ(json["fabrics"][4]["switch_time_s"], 0.025);
  EXPECT_FALSE(json["fabrics"][0].contains("alpha"));
}

// docs/scenario.md has one section per table, with every key in it.
TEST(Scenario, EveryKeyIsDocumentedInItsSection) {
  const Result<std::string> text =
      read_text_file(std::string(MIXNET_SOURCE_DIR) + "/docs/scenario.md");
  ASSERT_TRUE(text.ok());
  const std::pair<const char*, std::span<const KeySpec>> sections[] = {
      {"## Top of the file", kTopKeys},       {"## [model]", kModelKeys},
      {"## [parallelism]", kParallelismKeys}, {"## [cluster]", kClusterKeys},
      {"## [network]", kNetworkKeys},         {"## [compute]", kComputeKeys},
      {"## [routing]", kRoutingKeys},         {"## [run]", kRunKeys},
      {"## [mixnet]", kMixnetKeys},           {"## [control]", kControlKeys},
      {"## [[fabric]]", kFabricKeys},         {"## [[failure]]", kFailureKeys},
      {"## [prices]", kPricesKeys},           {"## [prices]", kPriceRowKeys}};
  for (const auto& [title, keys] : sections) {
    const std::size_t begin = text->find(title);
    ASSERT_NE(begin, std::string::npos) << title;
    const std::string section = text->substr(begin, text->find("\n## ", begin + 1) - begin);
    for (const KeySpec& key : keys) {
      EXPECT_NE(section.find("`" + std::string(key.name) + "`"), std::string::npos)
          << title << " " << key.name;
    }
  }
}

}  // namespace
}  // namespace mixnet::scenario
