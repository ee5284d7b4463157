#include "scenario/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

TEST(Catalog, EmbeddedFilesParse) {
  const Result<Catalog> catalog = parse_catalog(builtin_catalog_text());
  ASSERT_TRUE(catalog.ok()) << catalog.error().text();
  EXPECT_GE(catalog->models.size(), 20U);
}

TEST(Catalog, EveryEntryHasASourceAndANameOfItsOwn) {
  const Catalog& catalog = builtin_catalog();
  const auto check = [](const auto& entries) {
    std::set<std::string> names;
    for (const auto& entry : entries) {
      EXPECT_GE(entry.info.source.size(), 6U) << entry.info.name;
      EXPECT_TRUE(names.insert(entry.info.name).second) << entry.info.name;
      for (const std::string& alias : entry.info.aliases) {
        EXPECT_TRUE(names.insert(alias).second) << alias;
      }
    }
  };
  check(catalog.models);
  check(catalog.gpus);
  check(catalog.nics);
  check(catalog.switches);
  check(catalog.calibrations);
}

TEST(Catalog, ModelsAreConsistent) {
  for (const ModelEntry& entry : builtin_catalog().models) {
    const MoeModel& m = entry.model;
    EXPECT_GT(m.moe_layers(), 0) << m.name;
    EXPECT_EQ(m.shared_experts > 0, m.shared_ffn > 0) << m.name;
    EXPECT_EQ(m.query_heads % m.kv_heads, 0) << m.name;
    EXPECT_EQ(m.dispatch_width, m.hidden) << m.name;
    if (m.first_dense > 0 || m.moe_every > 1) {
      EXPECT_GT(m.dense_ffn, 0) << m.name;
    }
  }
}

TEST(Catalog, FindsByNameAndAliasWithoutRegardToCase) {
  const Catalog& catalog = builtin_catalog();
  for (const char* name : {"mixtral-8x7b", "mixtral-8x22b", "llama-moe", "qwen-moe", "qwen1.5-moe",
                           "deepseek-v3", "deepseek-r1", "olmoe", "glm-4.5", "Mixtral-8x7B-v0.1"}) {
    EXPECT_TRUE(catalog.find_model(name).ok()) << name;
  }
  EXPECT_EQ(catalog.find_model("deepseek-r1")->model, catalog.find_model("deepseek-v3")->model);
  EXPECT_EQ(catalog.find_model("llama-moe")->model.expert_ffn, 688);
  EXPECT_EQ(catalog.find_model("deepseek-v3")->model.moe_layers(), 58);
  EXPECT_EQ(catalog.find_model("llama-4-maverick")->model.moe_layers(), 24);
}

TEST(Catalog, UnknownNamesAreAnsweredWithNearOnes) {
  const Result<ModelEntry> model = builtin_catalog().find_model("mixtral-8x8b");
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message, HasSubstr("`mixtral-8x7b`"));
  EXPECT_THAT(builtin_catalog().find_gpu("H101").error().message, HasSubstr("`h100`"));
}

TEST(Catalog, RelinkTimesAndCalibrationAreThePublishedOnes) {
  const Catalog& catalog = builtin_catalog();
  const Result<NicEntry> nic = catalog.find_nic("connectx-6");
  ASSERT_TRUE(nic.ok());
  EXPECT_EQ(nic->relink_mean, SimTime::from_ms(5670));
  EXPECT_EQ(nic->relink_p99, SimTime::from_ms(6330));
  const Result<CalibrationEntry> layer = catalog.find_calibration("mixtral-8x7b-h800");
  ASSERT_TRUE(layer.ok());
  EXPECT_EQ(layer->times.attention, SimTime::from_ms(78));
  EXPECT_EQ(layer->times.dispatch, SimTime::from_ms(61));
  EXPECT_EQ(layer->times.expert, SimTime::from_ms(148));
  EXPECT_EQ(layer->times.combine, SimTime::from_ms(58));
  EXPECT_EQ(layer->times.micro_batch_size, 8);
}

// "One OCS of about 500 ports serves 80-250 servers with 2-6 NICs each" (MixNet section 4).
TEST(Catalog, ASwitchOfAbout500PortsServes80To250Servers) {
  OcsEntry ocs;
  ocs.ports = 500;
  EXPECT_EQ(servers_served(ocs, 6), 83);
  EXPECT_EQ(servers_served(ocs, 2), 250);
}

TEST(Catalog, MistakesNameFileAndLine) {
  CatalogText text = builtin_catalog_text();
  text.gpus = "[[gpu]]\nname = \"x\"\nsource = \"y\"\nbf16_tflop = 3\n";
  const Result<Catalog> catalog = parse_catalog(text);
  ASSERT_FALSE(catalog.ok());
  EXPECT_EQ(catalog.error().where, "gpus.toml:4");
  EXPECT_THAT(catalog.error().message, HasSubstr("`bf16_tflops`"));
}

}  // namespace
}  // namespace mixnet::scenario
