// Every mistake in a scenario file is answered with its line and with what to write instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scenario/scenario.h"

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

// Line numbers below count from the first line of this text.
const char* const kGood = R"(seed = 1
[model]
name = "mixtral-8x7b"
[parallelism]
tp = 4
pp = 4
dp = 1
ep = 8
micro_batch_size = 8
micro_batches = 4
sequence_length = 4096
[cluster]
servers = 16
gpus_per_server = 8
gpu = "h800"
nics_per_server = 8
nic_rate = "400Gbps"
[network]
packet_payload = "4096B"
[compute]
efficiency = 0.5
[routing]
generator = "zipf"
[mixnet]
alpha = 6
switch_time = "25ms"
[control]
cadence = "layer"
[[fabric]]
name = "fat-tree"
[[fabric]]
name = "mixnet"
)";

class ScenarioBadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("mixnet-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Scenario> read(const std::string& text) {
    const std::string path = (folder_ / "s.toml").string();
    std::ofstream(path, std::ios::binary) << text;
    return read_scenario(path);
  }
  std::string at(int line) const {
    const std::string path = (folder_ / "s.toml").string();
    return line == 0 ? path : path + ":" + std::to_string(line);
  }

  std::filesystem::path folder_;
};

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(ScenarioBadInput, EndlessDottedKeysAreRefused) {
  std::string key = "a";
  for (int i = 0; i < 200'000; ++i) {
    key += ".a";
  }
  const Result<Scenario> scenario = read("seed = 1\n" + key + " = 1\n");
  ASSERT_FALSE(scenario.ok());
  EXPECT_EQ(scenario.error().where, at(2));
  EXPECT_THAT(scenario.error().message, HasSubstr("dots in one line"));
}

struct Case {
  const char* from;  // replaced in kGood ...
  const char* to;    // ... by this
  int line;
  const char* fragment;
};

const Case kKeyCases[] = {
    {"servers = 16", "server = 16", 13, "did you mean `servers`"},
    {"[network]", "[netwrok]", 18, "unknown table `netwrok`: did you mean `network`"},
    {"servers = 16\n", "", 12, "`servers` is missing: add `servers = 32` in [cluster]"},
    {"name = \"fat-tree\"", "label = \"x\"", 29, "`name` is missing"},
    {"[routing]\ngenerator = \"zipf\"\n", "", 1, "`routing` is missing: add [routing]"},
    {"seed = 1", "prices = 3", 1, "must be a table, found a whole number: write it like [prices]"},
    {"servers = 16", "servers = \"16\"", 13, "must be a whole number, found text"},
    {"servers = 16", "servers = 16.0", 13, "must be a whole number, found a decimal"},
    {"servers = 16", "servers = 0", 13, "between 1 and"},
    {"servers = 16", "servers = 99999999999999999999", 13, "not valid TOML"},
    {"servers = 16", "servers = 16\nservers = 17", 14, "not valid TOML"},
    {"seed = 1", "seed = -1", 1, "between 0 and"},
    {"gpu = \"h800\"", "gpu = \"h801\"", 15, "did you mean `h800`"},
    {"gpu = \"h800\"", "gpu = \"\"", 15, "`gpu` is empty"},
    {"gpu = \"h800\"", "gpu = \"h800\"\nnic = \"connectx-5\"", 16, "`connectx-6`"},
    {"gpu = \"h800\"", "gpu = \"h800\"\nnic = \"connectx-6\"", 18, "at most 200 Gbps"},
    {"\"mixtral-8x7b\"", "\"mixtral-8x8b\"", 3, "did you mean `mixtral-8x7b`"},
    {"name = \"mixtral-8x7b\"", "layers = 4", 2, "either `name`"},
    {"name = \"mixtral-8x7b\"", "name = \"mixtral-8x7b\"\nconfig = \"c.json\"", 3, "either `name`"},
    {"name = \"mixtral-8x7b\"", "config = \"absent.json\"", 3, "absent.json"},
    {"\"mixtral-8x7b\"", "\"mixtral-8x7b\"\nlayers = 33", 4, "between 1 and 32"},
    {"\"mixtral-8x7b\"", "\"deepseek-v3\"\nlayers = 3", 4, "no MoE block"},
};

const Case kUnitCases[] = {
    {"\"400Gbps\"", "\"400\"", 17, "Gbps"},
    {"\"400Gbps\"", "400", 17, "must be text in quotes, found a whole number"},
    {"\"400Gbps\"", "\"400ms\"", 17, "Gbps"},
    {"\"400Gbps\"", "\"-4Gbps\"", 17, "nic_rate"},
    {"\"4096B\"", "\"4096\"", 19, "KiB"},
    {"\"4096B\"", "\"0\"", 19, "between 1B and 1MiB"},
    {"\"25ms\"", "25", 26, "must be text in quotes"},
    {"\"25ms\"", "\"25\"", 26, "ms"},
    {"\"25ms\"", "\"100000s\"", 26, "at most 86400s"},
    {"efficiency = 0.5", "efficiency = 1.5", 21, "between 0.001 and 1"},
    {"efficiency = 0.5", "efficiency = nan", 21, "between"},
    {"efficiency = 0.5", "efficiency = true", 21, "must be a number"},
    {"efficiency = 0.5", "expert = \"1ms\"", 20, "`micro_batch_size = 8` in [compute]"},
    {"efficiency = 0.5", "micro_batch_size = 8", 21, "none is given"},
    {"efficiency = 0.5", "calibration = \"mixtral\"", 21, "`mixtral-8x7b-h800`"},
    {"efficiency = 0.5", "gate = \"1ms\"\ncalibration = \"mixtral-8x7b-h800\"", 21, "no effect"},
    {"\"zipf\"", "\"pareto\"", 23, "`log-normal`, `zipf` or `uniform`"},
    {"\"zipf\"", "\"zipf\"\nmatrix = \"m.txt\"", 22, "exactly one"},
    {"\"zipf\"", "\"zipf\"\ncounts = \"exact\"", 24, "no effect"},
    {"\"zipf\"", "\"zipf\"\nsources = 3", 24, "`sources` must be"},
    {"generator = \"zipf\"", "matrix = \"m.txt\"\nskew = 1.0", 24, "no effect"},
    {"\"zipf\"", "\"zipf\"\nhot_share = 0.5", 23, "hot"},
};

const Case kFitCases[] = {
    {"dp = 1", "dp = 2", 7, "`dp = 1` or `servers = 32` would fit"},
    {"tp = 4\npp = 4", "tp = 3\npp = 4", 5, "use a divisor of 8"},
    {"tp = 4\npp = 4", "tp = 16\npp = 1", 5, "inside a server of 8"},
    {"ep = 8", "ep = 3", 8, "8 experts"},
    {"pp = 4", "pp = 64", 6, "32 blocks"},
    {"nics_per_server = 8", "nics_per_server = 6", 16, "one must be a multiple"},
    {"nics_per_server = 8", "nics_per_server = 8\nnuma_nodes = 3", 17, "NUMA"},
    {"alpha = 6", "alpha = 8", 25, "at most 7"},
    {"alpha = 6", "alpha = 0", 25, "between 1"},
    {"name = \"mixnet\"", "name = \"mixnet\"\nalpha = 9", 33, "at most 7"},
    {"alpha = 6", "alpha = 6\nocs_ports = 20", 26, "`alpha` of at most 5"},
    {"alpha = 6", "alpha = 6\nswitch = \"epiphotonics\"", 26, "at most 4"},
    {"alpha = 6", "alpha = 6\nswitch = \"polatis\"\nocs_ports = 9", 27, "not both"},
    {"switch_time = \"25ms\"", "switch = \"palomar\"", 26, "`switch_time = \"25ms\"`"},
    {"switch_time = \"25ms\"", "relink_time = \"connectx-7\"", 26, "not known"},
    {"switch_time = \"25ms\"", "relink_time = \"soon\"", 26, "a time like \"5.67s\""},
    {"\"layer\"", "\"hourly\"", 28, "`iteration`, `stage`, `layer` or `auto`"},
    {"switch_time = \"25ms\"", "relink_time = \"2s\"\nrelink_time_p99 = \"1s\"", 27, "at least"},
    {"switch_time = \"25ms\"", "switch_time_p99 = \"1s\"", 26, "at most 14.9 times"},
    {"switch_time = \"25ms\"", "relink_time_p99 = \"1s\"", 26, "at most 14.9 times"},
    {"[mixnet]", "[run]\niterations = 0\n[mixnet]", 25, "between 1"},
    {"name = \"mixnet\"", "name = \"mixnet\"\nevery = 5", 33, "`cadence = \"every\"`"},
    {"name = \"mixnet\"", "name = \"mixnet\"\npredictor = \"copilot\"", 33, "\"predict\"`"},
    {"cadence = \"layer\"", "allocator = \"best\"", 28, "`split` or `relay`"},
    {"packet_payload = \"4096B\"", "nics = \"shared\"", 19, "`pooled` or `pinned`"},
    {"name = \"mixnet\"", "name = \"mixnet\"\nlabel = \"fat-tree\"", 33, "another fabric"},
    {"name = \"mixnet\"", "name = \"mixnet\"\nlabel = \"a\\u0007b\"", 33, "printable text"},
    {"name = \"fat-tree\"", "name = \"fat-treee\"", 30, "`fat-tree-oversubscribed`"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\nalpha = 3", 31, "only for `mixnet`"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\noversubscription = 3", 31, "only for"},
    {"name = \"fat-tree\"", "name = \"fat-tree-oversubscribed\"", 29, "`oversubscription = 3`"},
    {"name = \"fat-tree\"", "name = \"mixnet\"", 32, "a second fabric is called `mixnet`"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\nswitch_radix = 7", 31, "even"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\nplacement = \"joint\"", 31,
     "`fat-tree` has no circuits to decide: use `nic-aware`"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\nplacement = \"eplp\"", 31, "`eplb`"},
    {"name = \"fat-tree\"", "name = \"fat-tree\"\nplacement_every = 3", 31,
     "add `placement = \"nic-aware\"`"},
    {"[[fabric]]\nname = \"fat-tree\"\n[[fabric]]\nname = \"mixnet\"\n", "[fabric]\n", 29,
     "must be written as [[fabric]]"},
};

TEST_F(ScenarioBadInput, TheTextThatTheCasesChangeIsGood) {
  const Result<Scenario> scenario = read(kGood);
  EXPECT_TRUE(scenario.ok()) << scenario.error().text();
}

TEST_F(ScenarioBadInput, NamesTheLineAndWhatToWriteInstead) {
  for (const auto& cases : {std::span<const Case>(kKeyCases), std::span<const Case>(kUnitCases),
                            std::span<const Case>(kFitCases)}) {
    for (const Case& c : cases) {
      const Result<Scenario> scenario = read(replaced(c.from, c.to));
      ASSERT_FALSE(scenario.ok()) << c.to;
      EXPECT_EQ(scenario.error().where, at(c.line)) << c.to << ": " << scenario.error().text();
      EXPECT_THAT(scenario.error().message, HasSubstr(c.fragment)) << c.to;
    }
  }
}

TEST_F(ScenarioBadInput, NoMoreFailsThanThereIs) {
  const auto failures = [](const char* kind, int count) {
    std::string text = kGood;
    for (int i = 0; i < count; ++i) {
      text += std::string("[[failure]]\nserver = 1\nkind = \"") + kind + "\"\n";
    }
    return text + "[[failure]]\nserver = 0\nkind = \"gpu\"\n";
  };
  for (const char* kind : {"gpu", "nic"}) {
    EXPECT_TRUE(read(failures(kind, 8)).ok()) << kind;
    const Result<Scenario> scenario = read(failures(kind, 9));
    ASSERT_FALSE(scenario.ok()) << kind;
    EXPECT_EQ(scenario.error().where, at(32 + 3 * 9));
    EXPECT_THAT(scenario.error().message, HasSubstr("server 1, which has 8"));
  }
  EXPECT_TRUE(read(failures("server", 9)).ok());
}

TEST_F(ScenarioBadInput, AKeyOfTheCommandLineIsNamedWithItsFix) {
  ASSERT_TRUE(read(kGood).ok());
  const auto error_of = [&](const std::string& setting) {
    const Result<Scenario> scenario = read_scenario(at(0), {setting});
    return scenario.ok() ? "no error" : scenario.error().text();
  };
  EXPECT_THAT(error_of("model.experts=63"),
              testing::StartsWith("--set model.experts: `mixtral-8x7b` has 63 experts"));
  EXPECT_THAT(error_of("model.experts=63"), HasSubstr("a multiple of 8 as `model.experts`"));
  EXPECT_THAT(error_of("cluster.servers = many"), testing::StartsWith("--set cluster.servers: "));
  EXPECT_THAT(error_of("mixnet.alhpa=3"), testing::StartsWith("--set mixnet.alhpa: unknown key"));
}

TEST_F(ScenarioBadInput, PricesAreCheckedToo) {
  const std::string good = std::string(kGood) + "[[prices.rows]]\ngbps = 400\nnic = 1000\n";
  const Result<Scenario> scenario = read(good);
  ASSERT_TRUE(scenario.ok()) << scenario.error().text();
  EXPECT_EQ(scenario->prices.rows[2].nic, 1000);
  EXPECT_EQ(scenario->prices.rows[2].transceiver, 659);
  const Result<Scenario> unknown =
      read(std::string(kGood) + "[[prices.rows]]\ngbps = 300\nnic = 1000\n");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().where, at(34));
  EXPECT_THAT(unknown.error().message, HasSubstr("`transceiver = 659`"));
}

TEST_F(ScenarioBadInput, CalibrationHoldsForWhatWasMeasuredOnly) {
  std::string text = replaced("efficiency = 0.5", "calibration = \"mixtral-8x7b-h800\"");
  EXPECT_TRUE(read(text).ok());
  text.replace(text.find("sequence_length = 4096"), 22, "sequence_length = 2048");
  const Result<Scenario> longer = read(text);
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.error().message, HasSubstr("sequence_length = 4096"));
}

TEST_F(ScenarioBadInput, UnreadableFiles) {
  const Result<Scenario> empty = read(" \n\n");
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.error().message, HasSubstr("empty"));
  const Result<Scenario> folder = read_scenario(folder_.string());
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().where, folder_.string());
  EXPECT_THAT(folder.error().message, HasSubstr("irectory"));
  EXPECT_FALSE(read_scenario((folder_ / "absent.toml").string()).ok());
  const Result<Scenario> latin1 = read("seed = 1\n# caf\xE9\n[model]\n");
  ASSERT_FALSE(latin1.ok());
  EXPECT_EQ(latin1.error().where, at(2));
}

}  // namespace
}  // namespace mixnet::scenario
