#include "scenario/overrides.h"

#include <gtest/gtest.h>

namespace mixnet::scenario {
namespace {

toml::table base() {
  return toml::parse("seed = 1\n[cluster]\nservers = 4\nnic_rate = \"400Gbps\"\n");
}

TEST(Overrides, ReplaceAndAdd) {
  toml::table root = base();
  EXPECT_TRUE(apply_override(root, {"cluster.nic_rate=100Gbps"}).ok());
  EXPECT_TRUE(apply_override(root, {"cluster.servers = 8"}).ok());
  EXPECT_TRUE(apply_override(root, {"mixnet.alpha=3"}).ok());
  EXPECT_TRUE(apply_override(root, {"seed=7"}).ok());
  EXPECT_EQ(root["cluster"]["nic_rate"].value_or(std::string()), "100Gbps");
  EXPECT_EQ(root["cluster"]["servers"].value_or(0), 8);
  EXPECT_EQ(root["mixnet"]["alpha"].value_or(0), 3);
  EXPECT_EQ(root["seed"].value_or(0), 7);
}

TEST(Overrides, ATableReplacesTheTable) {
  toml::table root = base();
  EXPECT_TRUE(apply_override(root, {"cluster={servers=2}"}).ok());
  EXPECT_EQ(root["cluster"]["servers"].value_or(0), 2);
  EXPECT_FALSE(root["cluster"]["nic_rate"]);
}

TEST(Overrides, AKeyOfOneFabric) {
  const auto root_of = [] {
    return toml::parse(
        "[[fabric]]\nname = \"fat-tree\"\n[[fabric]]\nname = \"mixnet\"\nalpha = 6\n"
        "[[fabric]]\nname = \"mixnet\"\nlabel = \"no cadence\"\n");
  };
  toml::table root = root_of();
  EXPECT_TRUE(apply_override(root, {"fabric.mixnet.alpha=3"}).ok());
  EXPECT_TRUE(apply_override(root, {"fabric.'no cadence'.cadence=once"}).ok());
  EXPECT_EQ(root["fabric"][1]["alpha"].value_or(0), 3);
  EXPECT_EQ(root["fabric"][2]["cadence"].value_or(std::string()), "once");
  EXPECT_FALSE(root["fabric"][2]["alpha"]);
  EXPECT_FALSE(root["fabric"][0]["alpha"]);

  const Status unknown = apply_override(root, {"fabric.mixnte.alpha=3"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("`mixnet`"), std::string::npos) << unknown.error().text();
  const Status whole = apply_override(root, {"fabric.mixnet=3", "study.toml", 7});
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().where, "study.toml:7");
  // The whole array can still be replaced.
  EXPECT_TRUE(apply_override(root, {"fabric=[{name='ideal'}]"}).ok());
  EXPECT_EQ(root["fabric"].as_array()->size(), 1U);
}

TEST(Overrides, RefuseWhatIsNoAssignment) {
  for (const char* entry : {"", "cluster.nic_rate", "=4", "a b=4", "x=it's", "x=1\ny=2"}) {
    toml::table root = base();
    const Status applied = apply_override(root, {entry});
    ASSERT_FALSE(applied.ok()) << entry;
    EXPECT_EQ(applied.error().where, "--set");
    EXPECT_NE(applied.error().message.find("table.key=value"), std::string::npos);
    EXPECT_EQ(root, base());
  }
}

}  // namespace
}  // namespace mixnet::scenario
