#include "scenario/recovery_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scenario/expert_map.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kFile =
    "[deployment]\nexperts = 4\ngpus = 2\ngpus_per_host = 1\nlayers = 2\nslots_per_gpu = 3\n"
    "[cache]\nkind = \"ring\"\ncopies = 2\n"
    "[costs]\nexpert = \"1MB\"\nhost_to_gpu = \"50GB/s\"\nnetwork = \"400Gbps\"\n"
    "disk = \"6GB/s\"\ndetection = \"1ms\"\nsetup = \"2ms\"\nlayer_time = \"3ms\"\n";

std::string replaced_in(const std::string& from, const std::string& to) {
  std::string text = kFile;
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(RecoveryFile, ReadsAllKeys) {
  const Result<RecoveryProblem> read = parse_recovery_file(kFile, "d.toml");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_THAT(read->map.layers,
              ElementsAre(ElementsAre(0, 1, 2, 3, 0, 1), ElementsAre(0, 1, 2, 3, 0, 1)));
  EXPECT_EQ(read->map.hosts(), 2);
  EXPECT_EQ(read->cache, ExpertCache::kRing);
  EXPECT_EQ(read->costs.expert, Bytes(1'000'000));
  EXPECT_EQ(read->costs.network, BitRate::from_gbps(400));
  EXPECT_EQ(read->costs.layer, SimTime::from_ms(3));
}

TEST(RecoveryFile, TakesAPlacementBesideIt) {
  const test_support::TemporaryDirectory folder;
  folder.write("map.json", R"({"layers": [{"phy2log": [0, 1, 2, -1, 3, 0], "logcnt": [2]}]})");
  const std::string path = folder.write(
      "d.toml", replaced_in("layers = 2\nslots_per_gpu = 3", "placement = \"map.json\""));
  const Result<RecoveryProblem> read = read_recovery_file(path);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_THAT(read->map.layers, ElementsAre(ElementsAre(0, 1, 2, -1, 3, 0)));
  EXPECT_EQ(read->map.slots_per_gpu, 3);
}

TEST(RecoveryFile, WrongValuesHaveLineAndRemedy) {
  struct Case {
    const char* from;
    const char* to;
    const char* line;
    const char* message;
  };
  for (const Case& c : {
           Case{"experts = 4", "expert = 4", "d.toml:2", "experts"},
           Case{"gpus = 2", "gpus = 0", "d.toml:3", "gpus"},
           Case{"layers = 2\n", "", "d.toml:", "placement"},
           Case{"layers = 2", "placement = \"x.json\"\nlayers = 2", "d.toml:5", "either"},
           Case{"layers = 2\nslots_per_gpu = 3", "placement = \"missing.json\"", "d.toml:5",
                "cannot read"},
           Case{"slots_per_gpu = 3", "slots_per_gpu = 1", "d.toml:6", "no slot for expert 2"},
           Case{"slots_per_gpu = 3", "slots_per_gpu = 3\nfirst_layer = 2", "d.toml:7",
                "first_layer"},
           Case{"\"ring\"", "\"rings\"", "d.toml:8", "ring"},
           Case{"\"ring\"", "\"own\"", "d.toml:9", "copies"},
           Case{"copies = 2", "copies = 3", "d.toml:9", "at most one per host"},
           Case{"disk = \"6GB/s\"\n", "", "d.toml:", "on_disk = false"},
           Case{"\"1MB\"", "0", "d.toml:11", "expert"},
           Case{"\"1MB\"", "\"0B\"", "d.toml:11", "expert"},
           Case{"\"50GB/s\"", "\"50GB\"", "d.toml:12", "host_to_gpu"},
           Case{"[costs]", "[cost]", "d.toml:10", "costs"},
           Case{"\"6GB/s\"", "\"1bps\"", "d.toml:14", "all experts take more than"},
           Case{"\"3ms\"", "\"61s\"", "d.toml:17", "at most 60 s"},
       }) {
    const Result<RecoveryProblem> read = parse_recovery_file(replaced_in(c.from, c.to), "d.toml");
    ASSERT_FALSE(read.ok()) << c.to;
    EXPECT_THAT(read.error().text(), HasSubstr(c.line)) << c.to;
    EXPECT_THAT(read.error().text(), HasSubstr(c.message)) << c.to;
  }
}

TEST(ExpertMapFile, NamesLayerAndEntry) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : {
           Case{"{\"layers\": [", "not valid JSON"},
           Case{"[]", "no `layers`"},
           Case{R"({"layers": []})", "no `layers`"},
           Case{R"({"layers": [7]})", "layer 0 has no `phy2log`"},
           Case{R"({"layers": [{"phy2log": []}]})", "layer 0 has no `phy2log`"},
           Case{R"({"layers": [{"phy2log": [0]}, {"log2phy": 1}]})", "layer 1 has no `phy2log`"},
           Case{R"({"layers": [{"phy2log": [0, 4]}]})", "layer 0: `phy2log` entry 1"},
           Case{R"({"layers": [{"phy2log": [0, -2]}]})", "found \"-2\""},
           Case{R"({"layers": [{"phy2log": [0, 1.5]}]})", "found \"1.5\""},
           Case{R"({"layers": [{"phy2log": [18446744073709551615]}]})", "entry 0"},
           Case{R"({"layers": [{"phy2log": [0]}, {"phy2log": [0, 1]}]})", "layer 1 has 2 slots"},
       }) {
    const Result<std::vector<std::vector<int>>> read = parse_expert_map(c.text, 4, "map.json");
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_EQ(read.error().where, "map.json");
    EXPECT_THAT(read.error().message, HasSubstr(c.message)) << c.text;
  }
}

}  // namespace
}  // namespace mixnet::scenario
