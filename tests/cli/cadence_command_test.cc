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

class CadenceCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const ProgramRun made = run_program(
        directory_, "",
        "trace generate t.npy --shape zipf --skew 1 --iterations 40 --layers 2 --sources 8 "
        "--experts 8 --tokens 4096 --top-k 2 --seed 5");
    ASSERT_EQ(made.exit_code, 0) << made.errors;
  }
  ProgramRun run(const std::string& options) {
    return run_program(directory_, "", "cadence t.npy " + options);
  }

  TemporaryDirectory directory_;
};

TEST_F(CadenceCommand, TellsItsRegretAgainstHindsight) {
  const ProgramRun done = run("--alpha 3 --eps 1 --switch 10us --relink 0 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json answer = json::parse(done.output);
  const json& hindsight = answer["hindsight"];
  EXPECT_EQ(answer["decisions"].size(), 40U);
  EXPECT_DOUBLE_EQ(answer["regret_s"].get<double>(),
                   answer["total_s"].get<double>() - hindsight["static_s"].get<double>());
  EXPECT_LE(hindsight["static_bound_s"], hindsight["static_s"]);
  EXPECT_LE(hindsight["static_s"], hindsight["held_s"]);
  EXPECT_LE(hindsight["sequence_s"], hindsight["held_s"]);
}

TEST_F(CadenceCommand, NicsThatNeedSecondsAreLeftAlone) {
  const json answer = json::parse(run("--alpha 3 --eps 1 --json").output);
  EXPECT_EQ(answer["changes"], 0);
  EXPECT_EQ(answer["dark_s"], 0);
  const ProgramRun table = run("--alpha 3 --eps 1");
  EXPECT_THAT(table.output, HasSubstr("Regret: 40 iterations took"));
  EXPECT_THAT(table.output, HasSubstr("holding is best"));
}

TEST_F(CadenceCommand, RefusesWhatCannotBe) {
  for (const char* const options :
       {"--servers 9", "--alpha 0 --eps 0", "--alpha 2 --eps 0", "--switch 25", "--switch 2s,1s",
        "--relink x", "--token 0", "--rate 0", "--confidence nan", "--micro-batches 0"}) {
    const ProgramRun done = run(options);
    EXPECT_EQ(done.exit_code, 2) << options;
    EXPECT_NE(done.errors, "") << options;
    EXPECT_EQ(done.output, "") << options;
  }
}

}  // namespace
}  // namespace mixnet
