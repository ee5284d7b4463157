#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using mixnet::test_support::read_all;
using mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

class SweepCommand : public ::testing::Test {
 protected:
  // Exit code of `mixnet sweep ARGUMENTS` in the directory; output in "stdout" and "stderr".
  int sweep(const std::string& arguments) const {
    const std::string command = "cd '" + directory_.file("") + "' && '" MIXNET_PROGRAM "' sweep " +
                                arguments + " >stdout 2>stderr";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text(const char* name) const { return read_all(directory_.file(name)); }
  std::vector<nlohmann::json> lines(const char* name) const {
    std::vector<nlohmann::json> lines;
    std::istringstream in(text(name));
    for (std::string line; std::getline(in, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  void write_sweep(const std::string& alphas) const {
    directory_.write("s.toml", "scenario = '" MIXNET_SOURCE_DIR
                               "/examples/prototype-32gpu.toml'\n"
                               "set = ['parallelism.micro_batches=1', 'model.layers=4']\nfabrics = "
                               "['fat-tree', 'mixnet']\n"
                               "[[axis]]\nkey = 'mixnet.alpha'\nvalues = " +
                                   alphas +
                                   "\n[[axis]]\nkey = 'cluster.nic_rate'\n"
                                   "values = ['100Gbps', '200Gbps']\n");
  }

  TemporaryDirectory directory_;
};

TEST_F(SweepCommand, PrintsAnObjectALine) {
  write_sweep("[1, 3]");
  ASSERT_EQ(sweep("s.toml -j1"), 0) << text("stderr");
  const auto printed = lines("stdout");
  ASSERT_EQ(printed.size(), 4U);
  EXPECT_EQ(printed[1]["point"].dump(), R"({"cluster.nic_rate":"200Gbps","mixnet.alpha":1})");
  ASSERT_EQ(printed[1]["fabrics"].size(), 2U);
  for (const char* key : {"name", "iteration_s", "all_to_all_s", "exposed_switching_s", "bound_s",
                          "bound_ratio", "cost_usd", "perf_per_dollar"}) {
    EXPECT_TRUE(printed[1]["fabrics"][1].contains(key)) << key;
  }
  EXPECT_EQ(printed[1]["config"]["fabrics"][1]["alpha"], 1);
}

TEST_F(SweepCommand, APointIsWhatCompareGives) {
  write_sweep("[2]");
  ASSERT_EQ(sweep("s.toml -j1"), 0) << text("stderr");
  const auto swept = lines("stdout");
  ASSERT_EQ(std::system(("'" MIXNET_PROGRAM "' compare '" MIXNET_SOURCE_DIR
                         "/examples/prototype-32gpu.toml' --json --set parallelism.micro_batches=1 "
                         "--set model.layers=4 "
                         "--set mixnet.alpha=2 --set cluster.nic_rate=200Gbps >'" +
                         directory_.file("json") + "' 2>/dev/null")
                            .c_str()),
            0);
  const auto compared = lines("json").at(0);
  for (const auto& fabric : compared["fabrics"]) {
    if (fabric["name"] == "mixnet") {
      EXPECT_EQ(fabric, swept.at(1)["fabrics"][1]);
      return;
    }
  }
  ADD_FAILURE() << "no mixnet";
}

TEST_F(SweepCommand, AsManyJobsAndShardsAsYouLikeMergeToTheSameBytes) {
  write_sweep("[1, 2, 3]");
  ASSERT_EQ(sweep("s.toml -j1 --out one.jsonl"), 0) << text("stderr");
  ASSERT_EQ(sweep("s.toml -j2 --out two.jsonl"), 0) << text("stderr");
  ASSERT_EQ(sweep("s.toml -j2 --shard 1/2 --out a.jsonl"), 0) << text("stderr");
  EXPECT_EQ(sweep("merge m.jsonl a.jsonl --sweep s.toml"), 1);
  EXPECT_THAT(text("stderr"), HasSubstr("3 points are missing"));
  EXPECT_EQ(lines("m.jsonl").size(), 3U);
  ASSERT_EQ(sweep("s.toml --shard 2/2 --out b.jsonl"), 0) << text("stderr");
  EXPECT_EQ(sweep("merge m.jsonl b.jsonl a.jsonl --sweep s.toml"), 0) << text("stderr");
  ASSERT_EQ(sweep("merge m1.jsonl one.jsonl --sweep s.toml"), 0);
  ASSERT_EQ(sweep("merge m2.jsonl two.jsonl one.jsonl --sweep s.toml --json"), 0);
  EXPECT_EQ(lines("stdout").at(0)["repeated"], 6);
  EXPECT_EQ(text("m1.jsonl"), text("one.jsonl"));
  EXPECT_EQ(text("m2.jsonl"), text("one.jsonl"));
  EXPECT_EQ(text("m.jsonl"), text("one.jsonl"));
}

TEST_F(SweepCommand, SimulatesOnlyWhatIsNotThere) {
  write_sweep("[1, 2]");
  ASSERT_EQ(sweep("s.toml -j1 --out r.jsonl"), 0) << text("stderr");
  const std::string four = text("r.jsonl");
  // A result that nobody computes shows that it was kept; half a line shows that it was not.
  std::string marked = four.substr(0, four.size() - 100);
  marked.replace(marked.find("\"version\":"), 10, "\"kept\":1,\"version\":");
  directory_.write("r.jsonl", marked);
  ASSERT_EQ(sweep("s.toml --dry-run --json --out r.jsonl"), 0) << text("stderr");
  int done = 0;
  for (const auto& line : lines("stdout")) {
    done += line["done"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(done, 3);
  EXPECT_EQ(text("r.jsonl"), marked);  // listing changes nothing
  write_sweep("[1, 2, 3]");
  ASSERT_EQ(sweep("s.toml -j1 --out r.jsonl"), 0) << text("stderr");
  const auto results = lines("r.jsonl");
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results[0]["kept"], 1);
  EXPECT_EQ(std::count_if(results.begin(), results.end(),
                          [](const nlohmann::json& line) { return line.contains("kept"); }),
            1);
}

TEST_F(SweepCommand, APointThatFailsIsToldAndLosesNoOther) {
  write_sweep("[1, 99, 2]");
  EXPECT_EQ(sweep("s.toml -j2 --out r.jsonl --report r.html"), 1);
  const auto results = lines("r.jsonl");
  ASSERT_EQ(results.size(), 6U);
  int failed = 0;
  for (const auto& line : results) {
    EXPECT_NE(line.contains("error"), line.contains("fabrics"));
    EXPECT_EQ(line.contains("error"), line["point"]["mixnet.alpha"] == 99);
    failed += line.contains("error") ? 1 : 0;
  }
  EXPECT_EQ(failed, 2);
  EXPECT_THAT(text("stderr"), HasSubstr("s.toml:5: `alpha` is 99"));
  EXPECT_THAT(text("r.html"), HasSubstr("6 points, 2 failed"));
  EXPECT_EQ(sweep("merge m.jsonl r.jsonl --sweep s.toml"), 1);
  EXPECT_THAT(text("stderr"), HasSubstr("2 points failed"));
}

TEST_F(SweepCommand, ADryRunNamesThePointsThatCannotBe) {
  write_sweep("[1, 99]");
  EXPECT_EQ(sweep("s.toml --dry-run --json"), 2);
  const auto points = lines("stdout");
  ASSERT_EQ(points.size(), 4U);
  EXPECT_FALSE(points[0].contains("error"));
  EXPECT_TRUE(points[2].contains("error"));
  EXPECT_THAT(text("stderr"), HasSubstr("\"mixnet.alpha\":99"));
  EXPECT_THAT(text("stderr"), HasSubstr("s.toml:5: `alpha` is 99"));
}

TEST_F(SweepCommand, BadInputIsAUsageError) {
  write_sweep("[98, 99]");
  EXPECT_EQ(sweep("s.toml --out r.jsonl"), 2);
  EXPECT_THAT(text("stderr"), HasSubstr("s.toml:5: `alpha` is 98"));
  EXPECT_EQ(access(directory_.file("r.jsonl").c_str(), F_OK), -1);
  write_sweep("[1]");
  for (const char* arguments :
       {"", "missing.toml", "s.toml --shard 0/2", "s.toml --shard 3/2", "s.toml --shard 1/2x",
        "s.toml --shard one", "s.toml -j0", "merge m.jsonl --sweep s.toml", "merge m.jsonl x.jsonl",
        "merge m.jsonl missing.jsonl --sweep s.toml", "merge m.jsonl s.toml --sweep s.toml",
        "report s.toml --sweep s.toml --out r.html", "s.toml --out /nowhere/r.jsonl",
        "s.toml --report nowhere/r.html", "s.toml --dry-run --report r.html", "s.toml --out ''",
        "s.toml --report ''"}) {
    EXPECT_EQ(sweep(arguments), 2) << arguments;
    EXPECT_GT(text("stderr").size(), 20U) << arguments;
  }
}

TEST_F(SweepCommand, AnInputIsNeverOverwritten) {
  write_sweep("[1]");
  const std::string before = text("s.toml");
  for (const char* arguments :
       {"s.toml --out s.toml", "s.toml --report ./s.toml", "s.toml --out r.jsonl --report r.jsonl",
        "merge s.toml r.jsonl --sweep s.toml", "report r.jsonl --sweep s.toml --out r.jsonl"}) {
    EXPECT_EQ(sweep(arguments), 2) << arguments;
    EXPECT_EQ(text("s.toml"), before) << arguments;
    EXPECT_EQ(access(directory_.file("r.jsonl").c_str(), F_OK), -1) << arguments;
  }
}

// Starts a sweep of many points and kills it as soon as some are there.
TEST_F(SweepCommand, KilledInTheMiddleItGoesOnFromThere) {
  write_sweep("[1, 2, 3]");
  ASSERT_EQ(sweep("s.toml -j1 --out whole.jsonl"), 0) << text("stderr");
  const std::string out = directory_.file("r.jsonl");
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    if (chdir(directory_.file("").c_str()) == 0) {
      execl(MIXNET_PROGRAM, "mixnet", "sweep", "s.toml", "-j2", "--out", "r.jsonl", nullptr);
    }
    _exit(127);
  }
  const auto size = [&] {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(out, none);
    return none ? 0 : bytes;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // Of a long line the beginning may be there alone.
  const auto has_line = [&] { return size() > 0 && read_all(out).find('\n') != std::string::npos; };
  while (!has_line() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  const std::string left = text("r.jsonl");
  const std::string whole_lines = left.substr(0, left.rfind('\n') + 1);
  ASSERT_FALSE(whole_lines.empty());
  ASSERT_EQ(sweep("s.toml -j2 --out r.jsonl"), 0) << text("stderr");
  EXPECT_EQ(text("r.jsonl").substr(0, whole_lines.size()), whole_lines);
  ASSERT_EQ(sweep("merge m.jsonl r.jsonl --sweep s.toml"), 0) << text("stderr");
  EXPECT_EQ(text("m.jsonl"), text("whole.jsonl"));
}

}  // namespace
}  // namespace mixnet
