#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace mixnet::test_support {

// The program, its output appended to a file. Killed with its owner.
class Mixnetd {
 public:
  Mixnetd(const std::vector<std::string>& arguments, const std::string& notify,
          const std::string& output) {
    std::vector<std::string> words = {MIXNETD_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    std::string variable = "NOTIFY_SOCKET=" + notify;
    std::vector<char*> environment = {variable.data()};
    for (char** other = environ; *other != nullptr; ++other) {
      environment.push_back(*other);
    }
    environment.push_back(nullptr);
    // Not fork(): gRPC has threads in this process.
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    EXPECT_EQ(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environment.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Mixnetd() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Mixnetd(const Mixnetd&) = delete;
  Mixnetd& operator=(const Mixnetd&) = delete;
  Mixnetd(Mixnetd&&) = delete;
  Mixnetd& operator=(Mixnetd&&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  // The exit code; -1: it was killed.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace mixnet::test_support
