#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/program_run.h"
#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using nlohmann::json;
using test_support::ProgramRun;
using test_support::read_all;
using test_support::run_program;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;

class PlaceCommand : public ::testing::Test {
 protected:
  // Runs `mixnet place loads.csv OPTIONS` on loads of this text.
  ProgramRun run(const std::string& loads, const std::string& options) {
    directory_.write("loads.csv", loads);
    return run_program(directory_, "", "place loads.csv " + options);
  }

  TemporaryDirectory directory_;
};

const char* const kEplbExample =
    "90,132,40,61,104,165,39,4,73,56,183,86\n20,107,104,64,19,197,187,157,172,86,16,27\n";

TEST_F(PlaceCommand, PublishedExampleOfEplb) {
  const ProgramRun done =
      run(kEplbExample, "--policy eplb --gpus 8 --nodes 2 --slots 16 --groups 4 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(answer["method"], "hierarchical");
  const json& layer = answer["layers"][0];
  EXPECT_EQ(layer["phy2log"], json({5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1}));
  EXPECT_EQ(layer["logcnt"], json({1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1}));
  EXPECT_EQ(layer["log2phy"][1], json({15, 13}));
  EXPECT_EQ(layer["log2phy"][0], json({12, -1}));
  EXPECT_NEAR(layer["max_over_mean"].get<double>(), 1.208, 5e-4);
}

TEST_F(PlaceCommand, JointIsNeverBehindAndPrintsItsMaps) {
  const std::string options =
      "--policy joint --gpus 8 --nodes 4 --slots 16 --alpha 2 --eps 1 --spread 0.8";
  const ProgramRun done = run(kEplbExample, options + " --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  ASSERT_EQ(answer["layers"].size(), 2U);
  for (const json& layer : answer["layers"]) {
    EXPECT_EQ(layer["phy2log"].size(), 16U);
    EXPECT_EQ(layer["logcnt"].size(), 12U);
    EXPECT_EQ(layer["circuits"].size(), 4U);
    EXPECT_GE(layer["max_over_mean"].get<double>(), 1);
    EXPECT_LE(layer["completion"].get<double>(), layer["place_then_wire"].get<double>());
    EXPECT_LE(layer["place_then_wire"].get<double>(), layer["wire_only"].get<double>());
    EXPECT_GE(layer["completion"].get<double>(), layer["bound"].get<double>());
  }
  EXPECT_LT(answer["layers"][0]["completion"], answer["layers"][0]["wire_only"]);
  EXPECT_THAT(run(kEplbExample, options).output, HasSubstr("place, then wire"));
}

TEST_F(PlaceCommand, ReplayShowsHowPlansAge) {
  const ProgramRun made = run_program(
      directory_, "",
      "trace generate t.npy --iterations 12 --sources 8 --experts 16 --tokens 256 --top-k 2 "
      "--drift 0.1");
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const ProgramRun done = run_program(
      directory_, "",
      "place --replay t.npy --every 4 --gpus 8 --nodes 2 --slots 24 --json --out pictures");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(json::parse(read_all(directory_.file("pictures/replay.json"))), answer);
  EXPECT_THAT(read_all(directory_.file("pictures/report.html")), HasSubstr("placement replay"));
  EXPECT_EQ(answer["plans"], 2);
  EXPECT_EQ(answer["iterations"].size(), 8U);
  EXPECT_LE(answer["mean"]["swapped"], answer["mean"]["planned"]);
  EXPECT_LT(answer["mean"]["planned"], answer["mean"]["contiguous"]);
}

TEST_F(PlaceCommand, ReplayComputesTheThresholdOfASwap) {
  ASSERT_EQ(run_program(directory_, "",
                        "trace generate t.npy --iterations 6 --sources 8 --experts 16 --tokens 256 "
                        "--top-k 2 --drift 0.1")
                .exit_code,
            0);
  directory_.write("h20.toml",
                   "[host]\ngpus = 4\nnics = 2\nnic_rate = \"400Gbps\"\nnvlink_rate = "
                   "\"450GB/s\"\n");
  const std::string base =
      "place --replay t.npy --every 3 --topology h20.toml --nodes 2 --slots 24 ";
  const std::string cost = base + "--swap-size 42MiB --token-time 1us ";
  const ProgramRun done = run_program(directory_, "", cost + "--json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(answer["threshold"], 98);
  EXPECT_EQ(answer["swap_cost"]["threshold"], 98);
  EXPECT_EQ(answer["swap_cost"]["expert_bytes"], 42 * 1024 * 1024);
  EXPECT_NEAR(answer["swap_cost"]["swap_time_us"].get<double>(), 97.9, 0.05);
  EXPECT_THAT(run_program(directory_, "", cost).output, HasSubstr("tau = t_swap / t_tok = 98"));
  EXPECT_EQ(
      json::parse(run_program(directory_, "", cost + "--swap-training --json").output)["threshold"],
      1566);
  EXPECT_EQ(
      json::parse(run_program(directory_, "", base + "--threshold 7 --json").output)["threshold"],
      7);
  EXPECT_EQ(run_program(directory_, "", cost + "--threshold 7").exit_code, 2);
  const ProgramRun bytes = run_program(directory_, "", base + "--weight-bytes 1");
  EXPECT_EQ(bytes.exit_code, 2);
  EXPECT_THAT(bytes.errors, HasSubstr("it is for --swap-size"));
  const ProgramRun half = run_program(directory_, "", base + "--token-time 1us");
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_THAT(half.errors, HasSubstr("--swap-size 42MiB"));
}

TEST_F(PlaceCommand, NicAwareIsNoWorseAndHasNoDuplicates) {
  const ProgramRun done = run(kEplbExample, "--gpus 8 --nodes 2 --slots 16 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(answer["policy"], "nic-aware");
  for (const json& layer : answer["layers"]) {
    EXPECT_LE(layer["max_over_mean"].get<double>(),
              layer["eplb_max_over_mean"].get<double>() + 1e-9);
    EXPECT_GE(layer["max_over_mean"].get<double>(), layer["bound"].get<double>() - 1e-9);
    EXPECT_EQ(layer["duplicates"], 0);
    EXPECT_TRUE(layer["nic_receive"].is_number());
    EXPECT_TRUE(layer["moved"].is_null());
  }
}

TEST_F(PlaceCommand, ItsOwnAnswerIsThePlacementInUse) {
  const std::string options = "--gpus 8 --nodes 2 --slots 16 --json";
  directory_.write("map.json", run(kEplbExample, options).output);
  const ProgramRun same = run(kEplbExample, options + " --current map.json");
  ASSERT_EQ(same.exit_code, 0) << same.errors;
  const json answer = json::parse(same.output);
  for (const json& layer : answer["layers"]) {
    EXPECT_EQ(layer["moved"], 0);
  }
}

TEST_F(PlaceCommand, TopologyGivesTheGpus) {
  directory_.write("h20.toml", "[host]\ngpus = 4\nnics = 2\nnic_rate = \"400Gbps\"\n");
  const ProgramRun done = run(kEplbExample, "--topology h20.toml --nodes 2 --slots 17");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("17 slots on 8 GPUs in 2 nodes with 4 NICs"));
}

TEST_F(PlaceCommand, UnevenNodesAreSaid) {
  directory_.write("h20.toml", "[host]\ngpus = 4\nnics = 2\nnic_rate = \"400Gbps\"\n");
  const ProgramRun uneven = run(kEplbExample, "--topology h20.toml --gpus 5 --slots 16 --json");
  ASSERT_EQ(uneven.exit_code, 0) << uneven.errors;
  EXPECT_THAT(uneven.errors, HasSubstr("the first 1 has 3, the other has 2; EPLB needs"));
  EXPECT_THAT(uneven.errors, HasSubstr("the host of h20.toml has 4"));
  EXPECT_EQ(json::parse(uneven.output)["notes"].size(), 2U);
  const ProgramRun eplb =
      run(kEplbExample, "--topology h20.toml --gpus 5 --slots 15 --policy eplb");
  EXPECT_EQ(eplb.exit_code, 2);
  EXPECT_THAT(eplb.errors, HasSubstr("nodes of equal size"));
}

TEST_F(PlaceCommand, AnOptionWithoutEffectSaysWhatItIsFor) {
  const std::string shape = "--gpus 2 --nodes 1 --slots 12 ";
  const struct {
    const char* options;
    const char* said;
  } cases[] = {
      {"--every 5", "--every has no effect here: it is for --replay"},
      {"--threshold 5", "it is for --replay"},
      {"--swap-size 42MiB", "it is for --replay"},
      {"--swap-rate 450GB/s", "it is for --replay"},
      {"--token-time 1us", "it is for --replay"},
      {"--weight-bytes 1", "it is for --replay"},
      {"--swap-training", "it is for --replay"},
      {"--policy eplb --nic-weight 2", "--policy nic-aware"},
      {"--policy eplb --budget 2", "--policy nic-aware"},
      {"--move-cost 1", "--current"},
      {"--policy joint --alpha 1 --eps 1 --groups 4", "knows no groups"},
      {"--alpha 0", "are for --policy joint"},
      {"--groups 99", "loads.csv: its 12 experts do not divide into 99 groups"},
      {"--topology ''", "its value is empty"},
      {"--current ''", "its value is empty"},
  };
  for (const auto& c : cases) {
    const ProgramRun done = run(kEplbExample, shape + c.options);
    EXPECT_EQ(done.exit_code, 2) << c.options;
    EXPECT_THAT(done.errors, HasSubstr(c.said)) << c.options;
  }
}

TEST_F(PlaceCommand, InputsThatDoNotFitAreNamed) {
  directory_.write("few.json", R"({"layers": [{"phy2log": [0]}, {"phy2log": [0]}]})");
  directory_.write("cut.json", R"({"layers": [)");
  for (const char* policy : {"eplb", "nic-aware"}) {
    const std::string options =
        std::string("--gpus 2 --nodes 1 --slots 12 --policy ") + policy + " --current ";
    EXPECT_THAT(run(kEplbExample, options + "few.json").errors,
                HasSubstr("few.json: layer 0: the placement in use has 1 slots"));
    EXPECT_THAT(run(kEplbExample, options + "cut.json").errors,
                HasSubstr("cut.json: not valid JSON"));
  }
  EXPECT_THAT(
      run(kEplbExample, "--gpus 2 --nodes 2 --slots 4 --policy joint --alpha 1 --eps 1").errors,
      HasSubstr("loads.csv: 4 slots do not hold its 12 experts: give at least --slots 12"));
  ASSERT_EQ(run_program(directory_, "",
                        "trace generate t.npy --iterations 4 --experts 8 --tokens 9 --top-k 2")
                .exit_code,
            0);
  const ProgramRun replay =
      run_program(directory_, "", "place --replay t.npy --gpus 2 --nodes 1 --slots 8");
  EXPECT_EQ(replay.exit_code, 2);
  EXPECT_THAT(replay.errors, HasSubstr("t.npy: the trace has 4 iterations"));
}

TEST_F(PlaceCommand, FallbackOfEplbIsSaid) {
  const ProgramRun done =
      run("10,20,30,40,50,60\n", "--policy eplb --gpus 4 --nodes 2 --slots 8 --groups 3 --json");
  ASSERT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.errors, HasSubstr("global policy"));
  EXPECT_EQ(json::parse(done.output)["method"], "global");
  EXPECT_EQ(json::parse(done.output)["notes"].size(), 1U);
}

TEST_F(PlaceCommand, UsageErrorsEndWithTwoAndSayWhatToType) {
  directory_.write("bad.json", "{\"layers\": [{\"phy2log\": [0, \"x\"]}]}");
  directory_.write("bad.toml", "[host]\ngpu = 4\n");
  const struct {
    const char* loads;
    const char* options;
    const char* said;
  } cases[] = {
      {"1,2\n3,x\n", "--gpus 2 --nodes 1 --slots 4", "loads.csv:2: \"x\""},
      {"1,2\n3\n", "--gpus 2 --nodes 1 --slots 4", "loads.csv:2"},
      {"1,2,3\n", "--gpus 2 --nodes 1 --slots 2", "at least 3 slots"},
      {"1,2,3\n", "--gpus 2 --slots 4", "--nodes"},
      {"1,2,3\n", "--gpus 2 --nodes 1 --slots 5 --policy eplb", "give 4 or 6 slots"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --policy joint", "--alpha 6 --eps 2"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --alpha 6", "are for --policy joint"},
      {"1,2\n", "--gpus 3 --nodes 2 --slots 4 --policy joint --alpha 1 --eps 1", "equal nodes"},
      {"1,2,3\n", "--gpus 2 --nodes 2 --slots 2 --policy joint --alpha 1 --eps 1", "at least"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --replay t.npy", "either LOADS or --replay"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --out pictures", "--out is for --replay"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --nic-weight nan", "not in range"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --current bad.json", "bad.json: layer 0, slot 1"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --current none.json", "none.json"},
      {"1,2\n", "--nodes 1 --slots 4 --topology bad.toml", "bad.toml:2"},
      {"1,2\n", "--gpus 0 --nodes 1 --slots 4", "--gpus"},
      {"1,2\n", "--gpus 2 --nodes 1 --slots 4 --policy best", "--policy"},
  };
  for (const auto& c : cases) {
    const ProgramRun done = run(c.loads, c.options);
    EXPECT_EQ(done.exit_code, 2) << c.options;
    EXPECT_EQ(done.output, "") << c.options;
    EXPECT_THAT(done.errors, HasSubstr(c.said)) << c.options;
  }
}

}  // namespace
}  // namespace mixnet
