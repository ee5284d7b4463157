#include "scenario/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "scenario/sweep_steps.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using mixnet::test_support::TemporaryDirectory;
using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kScenario = "scenario = '" MIXNET_SOURCE_DIR "/examples/prototype-32gpu.toml'\n";

Result<Sweep> read(const TemporaryDirectory& directory, const std::string& text) {
  return read_sweep(directory.write("s.toml", text));
}

std::string values_of(const std::vector<SweepValue>& values) {
  ordered_json json = ordered_json::array();
  for (const SweepValue& value : values) {
    json.push_back(value.json);
  }
  return json.dump();
}

TEST(SweepRange, StepsAreExactBetweenTheEnds) {
  const auto range = [](ordered_json from, ordered_json to, int steps, bool log) {
    const auto values = sweep_range({std::move(from), std::move(to), steps, log});
    return values.ok() ? values_of(*values) : values.error().message;
  };
  EXPECT_EQ(range(1, 7, 7, false), "[1,2,3,4,5,6,7]");
  EXPECT_EQ(range(16, 4096, 9, true), "[16,32,64,128,256,512,1024,2048,4096]");
  EXPECT_EQ(range(4096, 16, 3, true), "[4096,256,16]");
  EXPECT_EQ(range(0, 1.5, 4, false), "[0,0.5,1.0,1.5]");
  EXPECT_EQ(range("1us", "10s", 8, true),
            R"(["1us","10us","100us","1ms","10ms","100ms","1s","10s"])");
  EXPECT_EQ(range("1ms", "10ms", 3, true), R"(["1ms","3.162ms","10ms"])");
  EXPECT_EQ(range("0", "1s", 3, false), R"(["0","500ms","1s"])");
  EXPECT_EQ(range("100Gbps", "800Gbps", 4, true), R"(["100Gbps","200Gbps","400Gbps","800Gbps"])");
  EXPECT_EQ(range("1KiB", "1MiB", 3, true), R"(["1KiB","32.77KB","1MiB"])");
  EXPECT_THAT(range(0, 4, 3, true), HasSubstr("has no 0"));
  EXPECT_THAT(range("1s", "4Gbps", 3, true), HasSubstr("must both be"));
  EXPECT_THAT(range("layer", "once", 3, false), HasSubstr("values = [...]"));
}

TEST(Sweep, IsTheFullProductLastAxisFastest) {
  const TemporaryDirectory directory;
  const auto sweep = read(directory, kScenario + R"(
[[axis]]
key = "mixnet.alpha"
values = [1, 2]
[[axis]]
key = ["cluster.servers", "parallelism.dp"]
from = [4, 1]
to = [16, 4]
steps = 3
scale = "log"
)");
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  EXPECT_EQ(sweep->label, "s");
  ASSERT_EQ(sweep->points(), 6U);
  std::vector<std::string> points;
  for (std::size_t i = 0; i < 6; ++i) {
    points.push_back(sweep_point(*sweep, i).dump());
  }
  EXPECT_EQ(points[0], R"({"mixnet.alpha":1,"cluster.servers":4,"parallelism.dp":1})");
  EXPECT_EQ(points[1], R"({"mixnet.alpha":1,"cluster.servers":8,"parallelism.dp":2})");
  EXPECT_EQ(points[3], R"({"mixnet.alpha":2,"cluster.servers":4,"parallelism.dp":1})");
  EXPECT_EQ(points[5], R"({"mixnet.alpha":2,"cluster.servers":16,"parallelism.dp":4})");
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), 6U);
}

TEST(Sweep, APointIsAScenarioWithItsKeysAndFabrics) {
  const TemporaryDirectory directory;
  const auto sweep = read(directory, kScenario + R"(
set = ["cluster.nic_rate=200Gbps"]
fabrics = ["mixnet", "fat-tree"]
[[axis]]
key = "fabric.mixnet.switch_time"
values = ["1us", "10s"]
)");
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  const auto scenario = read_sweep_point(*sweep, 1);
  ASSERT_TRUE(scenario.ok()) << scenario.error().text();
  EXPECT_EQ(scenario->study.cluster.nic_rate, BitRate::from_gbps(200));
  ASSERT_EQ(scenario->study.fabrics.size(), 2U);
  EXPECT_EQ(scenario->study.fabrics[0].name, "fat-tree");
  EXPECT_EQ(scenario->study.fabrics[1].mixnet.switch_time.mean, SimTime::from_ms(10'000));
}

TEST(Sweep, AStepMayBeASetOfFailures) {
  const TemporaryDirectory directory;
  const auto sweep = read(directory, kScenario + R"(
set = ["fabric=[{name='mixnet'}]"]
[[axis]]
key = "failure"
values = [[], [{kind = "server", server = 1}, {kind = "nic", server = 0, side = "optical"}]]
)");
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  EXPECT_EQ(sweep_point(*sweep, 0).dump(), R"({"failure":[]})");
  const auto whole = read_sweep_point(*sweep, 0);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_TRUE(whole->study.failures.empty());
  const auto broken = read_sweep_point(*sweep, 1);
  ASSERT_TRUE(broken.ok()) << broken.error().text();
  ASSERT_EQ(broken->study.failures.size(), 2U);
  EXPECT_EQ(broken->study.failures[0].kind, FailureKind::kServer);
  EXPECT_EQ(broken->study.failures[1].side, FailureSide::kOptical);
}

TEST(Sweep, AValueThatTheScenarioRefusesIsNamedByItsLine) {
  const TemporaryDirectory directory;
  const auto sweep = read(directory, kScenario + "[[axis]]\nkey = 'mixnet.alpha'\nvalues = [99]\n");
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  const auto alpha = read_sweep_point(*sweep, 0);
  ASSERT_FALSE(alpha.ok());
  EXPECT_THAT(alpha.error().where, ::testing::EndsWith("s.toml:3")) << alpha.error().text();
  const auto misspelt =
      read(directory, kScenario + "\n[[axis]]\nkey = 'mixnet.alhpa'\nvalues = [2]\n");
  const auto unknown = read_sweep_point(*misspelt, 0);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().text(), HasSubstr("s.toml:4: unknown key `alhpa`: did you mean"));
  const auto fabric = read(directory, kScenario +
                                          "fabrics = ['mixnte']\n[[axis]]\nkey = 'mixnet.alpha'\n"
                                          "values = [2]\n");
  const auto filtered = read_sweep_point(*fabric, 0);
  ASSERT_FALSE(filtered.ok());
  EXPECT_THAT(filtered.error().text(), HasSubstr("s.toml:2: unknown fabric `mixnte`"));
}

struct Bad {
  const char* text;
  int line;
  const char* message;
};

class BadSweep : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSweep, IsRefusedWithLineAndFix) {
  const TemporaryDirectory directory;
  const auto sweep = read(directory, GetParam().text);
  ASSERT_FALSE(sweep.ok());
  const std::string place =
      GetParam().line == 0 ? "s.toml" : "s.toml:" + std::to_string(GetParam().line);
  EXPECT_THAT(sweep.error().where, ::testing::EndsWith(place)) << sweep.error().text();
  EXPECT_THAT(sweep.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, BadSweep,
    ::testing::Values(
        Bad{"", 1, "`scenario` is missing"}, Bad{"[model]\nname='x'\n", 0, "this is a scenario"},
        Bad{"scenario='x'\n", 1, "`axis` is missing"},
        Bad{"scenario='x'\naxes=[]\n", 2, "did you mean `axis`"},
        Bad{"scenario='x'\n[[axis]]\nvalues=[1]\n", 2, "`key` is missing"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\n", 2, "`values`"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[]\n", 4, "at least one value"},
        Bad{"scenario='x'\n[[axis]]\nkey='a b'\nvalues=[1]\n", 3, "is no key"},
        Bad{"scenario='x'\n[[axis]]\nkey='a=b'\nvalues=[1]\n", 3, "is no key"},
        Bad{"scenario='x'\n[[axis]]\nkey=[]\nvalues=[1]\n", 3, "names no key"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1,[2]]\n", 4, "value 2"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1,nan]\n", 4, "value 2"},
        Bad{"scenario='x'\n[[axis]]\nkey='a'\nvalues=[[1]]\n", 4, "array of tables"},
        Bad{"scenario='x'\n[[axis]]\nkey='a'\nvalues=[[{b=[1]}]]\n", 4, "array of tables"},
        Bad{"scenario='x'\n[[axis]]\nkey=['a','b']\nvalues=[[1,2],[3]]\n", 4, "array of 2 values"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1,2,1]\n", 4, "comes twice: remove one"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nfrom=1\nto=3\nsteps=9\n", 6, "fewer `steps`"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nfrom=1\nto=3\n", 2, "`steps` is missing"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nfrom=1\nto=3\nsteps=1\n", 6, "between 2"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nfrom=0\nto=3\nsteps=2\nscale='log'\n", 4, "no 0"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nfrom=1\nto=[3]\nsteps=2\n", 5, "`to` must be"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1]\nfrom=1\n", 4, "not both"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[0,1]\nscale='log'\n", 5, "above 0"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1]\nscale='lgo'\n", 5, "`log`"},
        Bad{"scenario='x'\n[[axis]]\nkey='a.b'\nvalues=[1]\n[[axis]]\nkey='a.b'\nvalues=[2]\n", 6,
            "swept twice"},
        Bad{"scenario='x'\nfabrics=[]\n[[axis]]\nkey='a.b'\nvalues=[1]\n", 2, "names none"},
        Bad{"scenario='x'\nfabrics=['a','b','a']\n[[axis]]\nkey='a.b'\nvalues=[1]\n", 2,
            "`a` twice: remove one"},
        Bad{"scenario='x'\nset=['a.b = 3']\n[[axis]]\nkey='a.b'\nvalues=[1]\n", 2,
            "remove it from `set`"}));

TEST(Sweep, EveryPointOfTheExamplesIsAScenario) {
  int examples = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(MIXNET_SOURCE_DIR "/examples/sweeps")) {
    if (entry.path().extension() != ".toml") {
      continue;
    }
    ++examples;
    const auto sweep = read_sweep(entry.path().string());
    ASSERT_TRUE(sweep.ok()) << sweep.error().text();
    for (std::size_t i = 0; i < sweep->points(); ++i) {
      const auto scenario = read_sweep_point(*sweep, i);
      EXPECT_TRUE(scenario.ok()) << scenario.error().text();
    }
  }
  EXPECT_GE(examples, 7);
}

TEST(Sweep, RefusesMorePointsThanItCanHold) {
  const TemporaryDirectory directory;
  std::string text = kScenario;
  for (const char* key : {"a", "b", "c", "d"}) {
    text += std::string("[[axis]]\nkey='") + key + "'\nfrom=1\nto=100000\nsteps=100000\n";
  }
  const auto sweep = read(directory, text);
  ASSERT_FALSE(sweep.ok());
  EXPECT_THAT(sweep.error().message, HasSubstr("more than 1000000 points"));
}

}  // namespace
}  // namespace mixnet::scenario
