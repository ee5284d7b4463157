#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/program_run.h"
#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using nlohmann::json;
using test_support::ProgramRun;
using test_support::run_program;
using test_support::TemporaryDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PolicyCommand : public ::testing::Test {
 protected:
  ProgramRun run(const std::string& arguments) {
    return run_program(directory_, "", "policy " + arguments);
  }
  static std::string example(const std::string& name) {
    return "'" MIXNET_SOURCE_DIR "/examples/deployment-" + name + ".toml'";
  }

  TemporaryDirectory directory_;
};

TEST_F(PolicyCommand, EveryExampleRuns) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MIXNET_SOURCE_DIR "/examples")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("deployment-", 0) != 0) {
      continue;
    }
    ++examples;
    const ProgramRun done = run("'" + entry.path().string() + "' --json");
    ASSERT_EQ(done.exit_code, 0) << name << ": " << done.errors;
    const json answer = json::parse(done.output);
    for (const json& row : answer["rows"]) {
      for (const char* const key : {"batch", "mode", "overlap", "groups", "predicted_us"}) {
        EXPECT_TRUE(row.contains(key)) << name << ": " << key;
      }
      EXPECT_GE(row["predicted_us"].get<double>() + 1e-3, row["bound_us"].get<double>());
    }
  }
  EXPECT_EQ(examples, 3);
}

// Table 2 of "Balancing and Beyond": 360 us without overlap, 404 us in half-batches.
TEST_F(PolicyCommand, PublishedTable2) {
  const ProgramRun done =
      run("'" MIXNET_SOURCE_DIR "/examples/reproduction/overlap-table2.toml' --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  int found = 0;
  for (const json& choice : answer["rows"][0]["choices"]) {
    if (choice["mode"] != 1) {
      continue;
    }
    if (choice["overlap"] == "none") {
      EXPECT_NEAR(choice["predicted_us"].get<double>(), 360, 1e-3);
      ++found;
    } else if (choice["overlap"] == "two-batch") {
      EXPECT_NEAR(choice["predicted_us"].get<double>(), 404, 1e-3);
      EXPECT_NEAR(choice["exposed_us"].get<double>(), 0, 1e-3);
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
}

TEST_F(PolicyCommand, JsonHoldsRowsCopiesAndConfiguration) {
  const ProgramRun done = run(example("deepseek-h20") + " --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  ASSERT_EQ(answer["rows"].size(), 5U);
  const json& row = answer["rows"][2];
  EXPECT_EQ(row["batch"], 32);
  EXPECT_EQ(row["choices"].size(), 16U);
  EXPECT_EQ(row["choices"][0]["predicted_us"], row["predicted_us"]);
  EXPECT_EQ(row["choices"][1], row["runner_up"]);
  EXPECT_THAT(row["why"].get<std::string>(), HasSubstr("% slower"));
  EXPECT_EQ(answer["copies"].size(), 4U);
  EXPECT_DOUBLE_EQ(answer["copies"][0]["network"].get<double>(), 6);
  EXPECT_DOUBLE_EQ(answer["copies"][0]["cross_rail_share"].get<double>(), 0.75);
  EXPECT_NEAR(answer["copies"][2]["network"].get<double>(), 2.71, 0.01);
  EXPECT_EQ(answer["config"]["ep"], 32);
  EXPECT_EQ(run(example("deepseek-h20") + " --json").output, done.output);
}

TEST_F(PolicyCommand, DecodingAndTrainingChooseDifferently) {
  const json decode = json::parse(run(example("deepseek-h20") + " --json").output);
  const json training = json::parse(run(example("deepseek-training") + " --json").output);
  EXPECT_EQ(decode["rows"][0]["overlap"], "per-expert");
  EXPECT_TRUE(decode["rows"][0].contains("tpot_us"));
  for (const json& row : training["rows"]) {
    EXPECT_EQ(row["overlap"], "two-batch");
    EXPECT_TRUE(row.contains("forward_us"));
  }
}

TEST_F(PolicyCommand, TableSaysTheSameInWords) {
  const ProgramRun done = run(example("deepseek-h20"));
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("TPOT (ms)"), HasSubstr("Runner-up of each batch")));
  EXPECT_GT(run(example("deepseek-h20") + " --all").output.size(), done.output.size() + 1000);
}

TEST_F(PolicyCommand, MeasuredTimesChangeTheRows) {
  const std::string head =
      "[model]\nname = 'deepseek-r1'\n[cluster]\ngpu = 'h20'\nnics_per_server = 4\n"
      "nic_rate = '400Gbps'\n[serving]\nep = 16\nbatches = [16]\n";
  directory_.write("computed.toml", head);
  directory_.write("measured.toml", head + "[[measured]]\nbatch = 16\nattention = '1ms'\n");
  const auto layer = [this](const std::string& file) {
    return json::parse(run(file + " --json").output)["rows"][0]["compute_us"].get<double>();
  };
  EXPECT_GT(layer("measured.toml"), 1000);
  EXPECT_LT(layer("computed.toml"), 1000);
}

TEST_F(PolicyCommand, RoutedTokensAreCounted) {
  // Two tokens on rank 0: experts 64 .. 127 are on the second host, eight to a rank.
  directory_.write("tokens.csv",
                   "0, 64, 72, 0, -1, -1, -1, -1, -1\n"
                   "0, 64, 128, -1, -1, -1, -1, -1, -1\n");
  const std::string arguments = example("deepseek-h20") + " --tokens tokens.csv";
  const json counted = json::parse(run(arguments + " --json").output)["counted"];
  EXPECT_EQ(counted["tokens"], 2);
  EXPECT_DOUBLE_EQ(counted["copies"][0]["network"].get<double>(), 2);    // mode 1: 2 + 2
  EXPECT_DOUBLE_EQ(counted["copies"][2]["network"].get<double>(), 1.5);  // mode 2: 1 + 2
  EXPECT_GT(counted["skew"]["gpu"].get<double>(), 1);
  EXPECT_THAT(run(arguments).output, HasSubstr("Network copies of 2 routed tokens"));
  directory_.write("tokens.csv", "0, 64, 1, 2, 3, 4, 5, 6, 7\n32, 64, 1, 2, 3, 4, 5, 6, 7\n");
  const ProgramRun wrong = run(arguments);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("tokens.csv:2"));
  directory_.write("tokens.csv", "0, 64\n0, 64\n");
  EXPECT_THAT(run(arguments).errors, HasSubstr("tokens.csv:1: a token picks 1 experts"));
}

TEST_F(PolicyCommand, WrongInputEndsWithUsage) {
  directory_.write("bad.toml", "[model]\nname = 'deepseek-r1'\n[cluster]\ngpu = 'h21'\n");
  const ProgramRun bad = run("bad.toml --json");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(bad.output, "");
  EXPECT_THAT(bad.errors, HasSubstr("bad.toml:"));
  EXPECT_EQ(run("none.toml").exit_code, 2);
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_THAT(run("--help").output, HasSubstr("Example: mixnet policy"));
}

}  // namespace
}  // namespace mixnet
