#include "cli/peer_bench.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace mixnet::cli {
namespace {

constexpr int kPeerSeconds = 120;

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return text + "'";
}

struct Lines {
  std::string json;  // the last one that begins like an object
  std::string last;
};

Lines read_lines(FILE* from) {
  Lines lines;
  char buffer[4096];
  while (fgets(buffer, sizeof buffer, from) != nullptr) {
    std::string line = buffer;
    while (!line.empty() && line.back() == '\n') {
      line.pop_back();
    }
    if (!line.empty()) {
      lines.last = line;
      lines.json = line.front() == '{' ? line : lines.json;
    }
  }
  return lines;
}

}  // namespace

Result<std::string> program_beside_this(const std::string& name) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path path = self.parent_path() / name;
  if (failed || access(path.c_str(), X_OK) != 0) {
    return Error{"no such program: build it with cmake --build --preset release-bench",
                 path.string()};
  }
  return path.string();
}

Result<PeerTimes> run_peer(const std::string& what, const std::vector<std::string>& command) {
  std::string line = fmt::format("exec timeout {}", kPeerSeconds);
  for (const std::string& word : command) {
    line += " " + quoted(word);
  }
  FILE* output = popen((line + " 2>&1 </dev/null").c_str(), "re");
  if (output == nullptr) {
    return Error{"cannot start a shell", what};
  }
  const Lines lines = read_lines(output);
  const int status = pclose(output);
  if (status != 0) {
    const std::string how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                              : fmt::format("signal {}", WTERMSIG(status));
    return Error{fmt::format("it ended with {}: {}", how, lines.last), what};
  }
  const auto json = nlohmann::json::parse(lines.json, nullptr, false);
  for (const char* key : {"median_s", "best_s", "cpu_s"}) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number()) {
      return Error{fmt::format("it printed no '{}': {}", key, lines.last), what};
    }
  }
  return PeerTimes{what, json["median_s"], json["best_s"], json["cpu_s"]};
}

}  // namespace mixnet::cli
