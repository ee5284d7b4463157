#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenario/pending_file.h"
#include "scenario/trace.h"
#include "support/program_run.h"
#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using nlohmann::json;
using test_support::ProgramRun;
using test_support::read_all;
using test_support::run_program;
using test_support::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TraceCommand : public ::testing::Test {
 protected:
  // Runs `mixnet trace ARGUMENTS` in the shell, inside the temporary directory.
  ProgramRun run(const std::string& arguments) {
    return run_program(directory_, "work", "trace " + arguments);
  }

  void SetUp() override { std::filesystem::create_directory(directory_.file("work")); }

  std::string path(const std::string& name) const { return directory_.file("work/" + name); }
  void write(const std::string& name, const std::string& text) const {
    directory_.write("work/" + name, text);
  }
  bool is_work_empty() const { return std::filesystem::is_empty(directory_.file("work")); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(TraceCommand, GenerateThenInfo) {
  const std::string arguments =
      " --shape zipf --skew 1 --iterations 3 --layers 2 --sources 4 --experts 8 --tokens 100 "
      "--top-k 2 --seed 5";
  const ProgramRun made = run("generate t.npy --json" + arguments);
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_EQ(json::parse(made.output)["shape"]["experts"], 8);
  EXPECT_EQ(made.errors, "");
  ASSERT_EQ(run("generate again.npy" + arguments).exit_code, 0);
  EXPECT_EQ(read_all(path("t.npy")), read_all(path("again.npy")));
  const ProgramRun info = run("info t.npy --ep 2 --hottest 3 --json");
  ASSERT_EQ(info.exit_code, 0) << info.errors;
  const json object = json::parse(info.output);
  EXPECT_EQ(object["assignments"], 3 * 2 * 4 * 200);
  EXPECT_EQ(object["top_k"], 2);
  EXPECT_EQ(object["ep"], 2);
  EXPECT_EQ(object["layers"].size(), 2U);
  EXPECT_EQ(object["hottest"].size(), 3U);
  // Zipf(1) over 8 experts: the first has 1 / 2.718 of the load, its mean share is 1 / 8.
  EXPECT_NEAR(object["expert_imbalance"]["mean"], 8 / 2.717857, 0.02);
  EXPECT_GT(object["drift"]["mean"], 0);
  EXPECT_THAT(run("info t.npy").output, HasSubstr("expert imbalance"));
}

TEST_F(TraceCommand, ImportThenInfo) {
  write("m.txt", "[[4,0],[2,2]]\n[[1,3],[2,2]]\n");
  const ProgramRun made = run("import m.txt m.npy --matrices iterations --model tiny");
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const auto trace = scenario::RoutingTrace::map(path("m.npy"));
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->shape(), (scenario::TraceShape{2, 1, 2, 2}));
  EXPECT_THAT(trace->view().row(1, 0, 0), ElementsAre(1, 3));
  EXPECT_EQ(trace->info().model, "tiny");
  const json object = json::parse(run("info m.npy --json").output);
  EXPECT_EQ(object["origin"], "imported from m.txt: matrix text");
  EXPECT_DOUBLE_EQ(object["zero_share"], 1.0 / 8);
  // Loads 6, 2 and 3, 5 of 8.
  EXPECT_DOUBLE_EQ(object["drift"]["max"], 0.375);
  EXPECT_DOUBLE_EQ(object["expert_imbalance"]["max"], 1.5);
}

TEST_F(TraceCommand, UsageErrorsExitWithTwoAndLeaveNothing) {
  const std::string good = " --experts 8 --tokens 10 --top-k 2";
  const std::vector<std::string> wrong = {"",
                                          "generate",
                                          "generate t.npy --experts 8 --tokens 10",
                                          "generate t.npy --top-k 9 --experts 8 --tokens 1",
                                          "generate t.txt" + good,
                                          "generate t.npy --shape flat" + good,
                                          "generate t.npy --skew nan" + good,
                                          "generate t.npy --shape uniform --skew 1" + good,
                                          "generate t.npy --iterations 0" + good,
                                          "generate t.npy --unknown 1" + good,
                                          "import none.txt t.npy",
                                          "info none.npy"};
  for (const std::string& arguments : wrong) {
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_EQ(result.output, "") << arguments;
    EXPECT_NE(result.errors, "") << arguments;
  }
  EXPECT_TRUE(is_work_empty());
}

TEST_F(TraceCommand, BadInputNamesFileAndLineAndKeepsTheOldTrace) {
  write("good.txt", "1 2\n3 4\n");
  write("bad.txt", "1 2\n3 -4\n");
  ASSERT_EQ(run("import good.txt t.npy").exit_code, 0);
  const std::string before = read_all(path("t.npy"));
  const ProgramRun bad = run("import bad.txt t.npy");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.errors, HasSubstr("bad.txt:2: \"-4\" is negative"));
  EXPECT_EQ(read_all(path("t.npy")), before);
  const ProgramRun ep = run("info t.npy --ep 3");
  EXPECT_EQ(ep.exit_code, 2);
  EXPECT_THAT(ep.errors, HasSubstr("--ep 3 does not divide the 2 experts"));
}

TEST_F(TraceCommand, AFailedWriteExitsWithOne) {
  EXPECT_EQ(run("generate none/t.npy --experts 8 --tokens 10 --top-k 2").exit_code, 1);
  EXPECT_TRUE(is_work_empty());
}

// Such as by the time limit of a batch system, or by Ctrl-C.
TEST_F(TraceCommand, EndedByASignalItLeavesNothing) {
  {
    const auto probe = scenario::PendingFile::create(path("probe"));
    if (!probe || !is_work_empty()) {
      GTEST_SKIP() << "the file system has no files without a name";
    }
  }
  const std::string command = "cd '" + path("") +
                              "' && timeout -s TERM 1 '" MIXNET_PROGRAM
                              "' trace generate t.npy --iterations 1000000 --layers 32 "
                              "--sources 8 --experts 8 --tokens 4096 --top-k 2 2>/dev/null";
  const int status = std::system(command.c_str());
  constexpr int kTimedOut = 124;
  EXPECT_EQ(WEXITSTATUS(status), kTimedOut);
  EXPECT_TRUE(is_work_empty());
}

TEST_F(TraceCommand, ASideFileThatCannotBeIsNamed) {
  ASSERT_EQ(run("generate t.npy --iterations 3 --experts 8 --tokens 10 --top-k 2").exit_code, 0);
  std::string side = read_all(path("t.json"));
  side.replace(side.find("\"top_k\": 2"), 10, "\"top_k\": 99");
  write("t.json", side);
  const ProgramRun info = run("info t.npy");
  EXPECT_EQ(info.exit_code, 2);
  EXPECT_THAT(info.errors, HasSubstr("t.json: key \"top_k\" is 99, and the trace has 8 experts"));
}

TEST_F(TraceCommand, HelpHasAnExample) {
  for (const char* command : {"", "generate", "import", "info"}) {
    const ProgramRun help = run(std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.output, HasSubstr("Example: mixnet trace"));
  }
}

}  // namespace
}  // namespace mixnet
