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

const std::string kExample = MIXNET_SOURCE_DIR "/examples/recovery-64gpu.toml";

ProgramRun recover(const std::string& arguments) {
  const TemporaryDirectory directory;
  return run_program(directory, "", "recover " + arguments);
}

TEST(RecoverCommand, ForecastOfTheExampleRisesWithTheLoss) {
  const ProgramRun done = recover("'" + kExample + "' --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json rows = json::parse(done.output)["forecast"];
  ASSERT_EQ(rows.size(), 7U);
  double stall = 0;
  for (const json& row : rows) {
    ASSERT_EQ(row["possible"], true) << row;
    EXPECT_GE(row["stall_s"].get<double>(), stall);
    stall = row["stall_s"];
    EXPECT_GE(stall, row["stall_bound_s"].get<double>());
    // Replicas alone make up for the last host of the example.
    if (row["reloads"] == 0) {
      EXPECT_EQ(row["disk_stall_s"], row["stall_s"]);
    } else {
      EXPECT_GT(row["disk_stall_s"].get<double>(), stall);
    }
  }
  EXPECT_EQ(rows[0]["reloads"], 0);
  EXPECT_EQ(rows[6]["lost"], 7);
}

TEST(RecoverCommand, PlanOfTheExample) {
  const ProgramRun done = recover("'" + kExample + "' --lost 3,5 --lost-ranks 0 --json");
  ASSERT_EQ(done.exit_code, 0) << done.errors;
  const json plan = json::parse(done.output);
  EXPECT_EQ(plan["lost_hosts"], json({3, 5}));
  EXPECT_EQ(plan["layer_order"].size(), 62U);
  EXPECT_EQ(plan["bytes"]["own_memory"].get<int64_t>(),
            47'185'920 * static_cast<int64_t>(plan["reloads"].size()));
  const ProgramRun table = recover("'" + kExample + "' --lost 3,5 --lost-ranks 0");
  EXPECT_THAT(table.output, HasSubstr("exposed stall"));
  EXPECT_THAT(table.output, HasSubstr("own memory"));
}

TEST(RecoverCommand, UsageErrorsEndWithTwoAndPrintNothing) {
  for (const std::string& arguments :
       {std::string("missing.toml"), std::string(), "'" + kExample + "' --lost 8",
        "'" + kExample + "' --lost -1", "'" + kExample + "' --lost 1,1",
        "'" + kExample + "' --lost x", "'" + kExample + "' --lost ''",
        "'" + kExample + "' --lost 0,1,2,3,4,5,6,7", "'" + kExample + "' --lost-ranks 64"}) {
    const ProgramRun done = recover(arguments);
    EXPECT_EQ(done.exit_code, 2) << arguments;
    EXPECT_EQ(done.output, "") << arguments;
    EXPECT_NE(done.errors, "") << arguments;
  }
  EXPECT_THAT(recover("'" + kExample + "' --lost 8").errors, HasSubstr("host 0 to 7"));
}

}  // namespace
}  // namespace mixnet
