#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using ::testing::HasSubstr;

class WireCommand : public ::testing::Test {
 protected:
  // Runs `mixnet wire MATRIX OPTIONS` on a matrix of this text.
  ProgramRun run(const std::string& matrix, const std::string& options) {
    directory_.write("demand.txt", matrix);
    return run_program(directory_, "", "wire demand.txt " + options);
  }

 private:
  TemporaryDirectory directory_;
};

const char* const kThreeServers = "9 8 0\n4 9 2\n0 2 9\n";

TEST_F(WireCommand, JsonIsEnoughToCheckTheAnswer) {
  const ProgramRun done = run(kThreeServers, "--alpha 2 --eps 1 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(answer["algorithm"], "split");
  EXPECT_EQ(answer["circuits"].size(), 3U);
  const json& shares = answer["shares"];
  EXPECT_TRUE(shares["relay"].is_array());
  EXPECT_DOUBLE_EQ(shares["circuit"][0][1].get<double>() + shares["eps"][0][1].get<double>(), 8.0);
  EXPECT_DOUBLE_EQ(shares["circuit"][0][0].get<double>(), 0.0);
  for (const char* const key : {"completion", "bound", "bound_without_relay", "ratio"}) {
    EXPECT_TRUE(answer[key].is_number()) << key;
  }
  EXPECT_GE(answer["completion"].get<double>(), answer["bound"].get<double>());
}

TEST_F(WireCommand, TableSaysTheSameInWords) {
  const ProgramRun done = run(kThreeServers, "--alpha 2 --eps 1 --algorithm algorithm1");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_THAT(done.output, HasSubstr("circuits between servers"));
  EXPECT_THAT(done.output, HasSubstr("ratio is that of both directions added"));
}

TEST_F(WireCommand, NeverCompletingIsNullAndSaidInWords) {
  const ProgramRun done = run("0 1 1\n1 0 1\n1 1 0\n", "--alpha 1 --eps 0 --json");
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.errors, HasSubstr("demand.txt: It never completes: server"));
  const json answer = json::parse(done.output);
  EXPECT_TRUE(answer["completion"].is_null());
  EXPECT_TRUE(answer["ratio"].is_null());
  EXPECT_THAT(answer["verdict"].get<std::string>(), HasSubstr("never completes"));
}

TEST_F(WireCommand, OneServerHasNothingToWire) {
  const ProgramRun done = run("5\n", "--alpha 6 --eps 2 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  EXPECT_EQ(json::parse(done.output)["completion"], 0);
  EXPECT_EQ(json::parse(done.output)["ratio"], 1);
}

TEST_F(WireCommand, UsageErrorsEndWithTwoAndPrintNothing) {
  for (const char* const options :
       {"--alpha -1 --eps 2", "--alpha 6 --eps -2", "--alpha 0 --eps 0", "--alpha 6", "--eps 2",
        "--alpha 2000 --eps 2", "--alpha x --eps 2", "--alpha 6 --eps 2 --algorithm best",
        "--alpha 6 --eps 2 --gpus 4", "--alpha 6 --eps 2 --numa-nodes 1",
        "--alpha 6 --eps 2 --budget 1"}) {
    const ProgramRun done = run(kThreeServers, options);
    EXPECT_EQ(done.exit_code, 2) << options;
    EXPECT_EQ(done.output, "") << options;
    EXPECT_NE(done.errors, "") << options;
  }
}

TEST_F(WireCommand, AnOptionWithoutEffectSaysWhatWouldGiveItOne) {
  EXPECT_THAT(run(kThreeServers, "--alpha 6 --eps 2 --gpus 4").errors, HasSubstr("add --routes"));
  EXPECT_THAT(run(kThreeServers, "--alpha 6 --eps 2 --budget 1").errors,
              HasSubstr("--algorithm relay"));
  EXPECT_EQ(run(kThreeServers, "--alpha 6 --eps 2 --gpus 4 --routes").exit_code, 0);
}

TEST_F(WireCommand, BadMatrixNamesTheLine) {
  const ProgramRun done = run("0 1\n1 -4\n", "--alpha 6 --eps 2");
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.errors, HasSubstr("demand.txt:2"));
  EXPECT_EQ(done.output, "");
}

// A line of three servers: with one circuit in the middle taken by both, 0 -> 2 must be relayed.
TEST_F(WireCommand, RelaysGoOverTwoCircuits) {
  const ProgramRun done =
      run("0 4 4\n4 0 4\n4 4 0\n", "--alpha 2 --eps 0 --algorithm relay --json");
  EXPECT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  EXPECT_EQ(answer["algorithm"], "relay");
  EXPECT_LE(answer["ratio"].get<double>(), 1.01);
}

}  // namespace
}  // namespace mixnet
