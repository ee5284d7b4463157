#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/temporary_directory.h"

// A region of three servers with two NICs each on an emulated 8x8 switch: emulator, daemon and
// tools as processes of their own.
namespace mixnet::test_support {

inline constexpr auto kMostWaiting = std::chrono::seconds(30);

// A program with its standard output in a pipe. Killed with its owner.
class Child {
 public:
  // Standard error goes to the file `errors`.
  Child(const std::vector<std::string>& words, const std::string& errors) {
    int pipe_ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(pipe_ends[1], STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
      std::vector<std::string> copies = words;
      std::vector<char*> arguments;
      for (std::string& word : copies) {
        arguments.push_back(word.data());
      }
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    output_ = pipe_ends[0];
  }
  ~Child() {
    end(SIGKILL);
    ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&&) = delete;
  Child& operator=(Child&&) = delete;

  // The next line; empty at the end, or if there is none in time.
  std::string line() const {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + kMostWaiting;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd readable{output_, POLLIN, 0};
      char c = 0;
      if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) != 1 ||
          ::read(output_, &c, 1) != 1 || c == '\n') {
        return text;
      }
      text += c;
    }
  }
  // The exit code after `signal`; -1: killed by it, or ended before.
  int end(int signal) {
    if (pid_ <= 0) {
      return -1;
    }
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

struct ToolRun {
  int exit_code = -1;
  std::string output;
  std::string errors;
};

class RegionPrograms {
 public:
  RegionPrograms() {
    const std::string credentials =
        folder_.write("switch.credentials", "user = admin\npassword = root\n");
    EXPECT_EQ(::chmod(credentials.c_str(), 0600), 0);
    start_emulator("127.0.0.1:0");
    folder_.write("r1.toml", region_file());
  }

  // "status --json": `mixnet ocs status --config r1.toml --json`.
  ToolRun run(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.file("") + "' && '" MIXNET_PROGRAM "' ocs " +
                                arguments + " --config r1.toml >out 2>err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_all(folder_.file("out")),
            read_all(folder_.file("err"))};
  }
  // Again until it ends with `exit_code`; the last run.
  ToolRun run_until(int exit_code, const std::string& arguments) const {
    const auto end = std::chrono::steady_clock::now() + kMostWaiting;
    ToolRun last = run(arguments);
    while (last.exit_code != exit_code && std::chrono::steady_clock::now() < end) {
      last = run(arguments);
    }
    EXPECT_EQ(last.exit_code, exit_code) << last.output << last.errors;
    return last;
  }
  // What `mixnet ocs fault` shows.
  std::string fault(const std::string& words) const {
    const std::string command = "cd '" + folder_.file("") +
                                "' && '" MIXNET_PROGRAM "' ocs fault --control control.sock " +
                                words + " >out 2>err";
    EXPECT_EQ(std::system(command.c_str()), 0) << read_all(folder_.file("err"));
    return read_all(folder_.file("out"));
  }

  void start_daemon() {
    daemon_.emplace(std::vector<std::string>{MIXNETD_PROGRAM, "--config", folder_.file("r1.toml")},
                    folder_.file("log"));
    const std::string socket = folder_.file("r1.sock");
    const auto end = std::chrono::steady_clock::now() + kMostWaiting;
    while (::access(socket.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void stop_emulator() { emulator_.reset(); }
  Child watch() const {
    return {{MIXNET_PROGRAM, "ocs", "watch", "--json", "--config", folder_.file("r1.toml")},
            folder_.file("watch-errors")};
  }
  const TemporaryDirectory& folder() const { return folder_; }

 private:
  void start_emulator(const std::string& tcp) {
    emulator_.emplace(
        std::vector<std::string>{MIXNET_PROGRAM, "ocs", "emulate", "--json", "--tcp", tcp,
                                 "--ports", "8x8", "--control", folder_.file("control.sock"),
                                 "--sysfs", folder_.file("sys"), "--knob", "switch_time=0",
                                 "--knob", "relink_time=0"},
        folder_.file("emulator-errors"));
    const auto started = nlohmann::json::parse(emulator_->line(), nullptr, false);
    ASSERT_TRUE(started.is_object()) << read_all(folder_.file("emulator-errors"));
    address_ = started["tcp"];
  }
  std::string region_file() const {
    std::string toml = "name = \"r1\"\n[switch]\naddress = \"" + address_ +
                       "\"\nsize = \"8x8\"\ncredentials = \"switch.credentials\"\n";
    const char* servers[3][3] = {{"\"ocs1\", \"ocs2\"", "1-2", "9-10"},
                                 {"\"ocs3\", \"ocs4\"", "3-4", "11-12"},
                                 {"\"ocs5\", \"ocs6\"", "5-6", "13-14"}};
    for (int s = 0; s < 3; ++s) {
      toml += "[[server]]\nname = \"s" + std::to_string(s) + "\"\ninterfaces = [" + servers[s][0] +
              "]\ntx = \"" + servers[s][1] + "\"\nrx = \"" + servers[s][2] + "\"\n";
    }
    return toml +
           "[state]\ndirectory = \"state\"\n[links]\nprobe = \"sysfs\"\nsysfs = \"sys\"\n"
           "[control]\neps = 1\nhealth_interval = \"20ms\"\nrelink_window = \"100ms\"\n"
           "[listen]\ngrpc = \"unix:r1.sock\"\n";
  }

  TemporaryDirectory folder_;
  std::string address_;
  std::optional<Child> emulator_;
  std::optional<Child> daemon_;
};

}  // namespace mixnet::test_support
