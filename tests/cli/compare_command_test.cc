#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using test_support::read_all;
using test_support::TemporaryDirectory;

const std::string kScenario = MIXNET_SOURCE_DIR "/examples/prototype-32gpu.toml";

// Exit code of `mixnet ARGUMENTS`, after `before` in the same shell.
int exit_code_of(const std::string& arguments, const std::string& before = "") {
  const int status = std::system((before + "'" MIXNET_PROGRAM "' " + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CompareCommand, WritesTheSameFilesTwice) {
  const TemporaryDirectory directory;
  for (const char* out : {"a", "b"}) {
    ASSERT_EQ(exit_code_of("compare '" + kScenario + "' --out '" + directory.file(out) + "' >'" +
                           directory.file("table") + "' 2>&1"),
              0)
        << read_all(directory.file("table"));
  }
  for (const char* name : {"result.json", "report.html", "timeline.json"}) {
    const std::string first = read_all(directory.file(std::string("a/") + name));
    EXPECT_GT(first.size(), 1000U) << name;
    EXPECT_EQ(first, read_all(directory.file(std::string("b/") + name))) << name;
  }
  const auto result = nlohmann::json::parse(read_all(directory.file("a/result.json")));
  EXPECT_EQ(result["fabrics"][0]["name"], "fat-tree");
  EXPECT_TRUE(result["config"].contains("cluster"));
  EXPECT_NE(read_all(directory.file("table")).find("Which fabric:"), std::string::npos);
}

TEST(CompareCommand, JsonIsOneObjectEqualToTheFile) {
  const TemporaryDirectory directory;
  ASSERT_EQ(
      exit_code_of("compare '" + kScenario + "' --json --out '" + directory.file("a") + "' >'" +
                   directory.file("json") + "' 2>'" + directory.file("progress") + "'"),
      0);
  EXPECT_EQ(read_all(directory.file("json")), read_all(directory.file("a/result.json")));
}

TEST(CompareCommand, AnOutputThatTakesNothingIsAFailure) {
  const TemporaryDirectory directory;
  for (const char* command :
       {"compare '%' --json", "compare '%'", "cost '%'", "cost '%' --json", "catalog", "--help"}) {
    std::string arguments = command;
    if (const std::size_t at = arguments.find('%'); at != std::string::npos) {
      arguments.replace(at, 1, kScenario);
    }
    EXPECT_EQ(exit_code_of(arguments + " >'" + directory.file("out") + "' 2>/dev/null",
                           "cd '" + directory.file("") + "' && trap '' XFSZ && ulimit -f 0 && "),
              1)
        << command;
  }
  EXPECT_EQ(exit_code_of("compare missing.toml >/dev/null 2>&-"), 2);
}

TEST(CompareCommand, AFolderThatCannotBeMadeIsAFailure) {
  const TemporaryDirectory directory;
  directory.write("file", "x");
  EXPECT_EQ(exit_code_of("compare '" + kScenario + "' --out '" + directory.file("file") +
                         "/out' >/dev/null 2>&1"),
            1);
  EXPECT_EQ(read_all(directory.file("file")), "x");
}

}  // namespace
}  // namespace mixnet
