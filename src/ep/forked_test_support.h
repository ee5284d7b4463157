#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "ep/monotonic.h"

namespace mixnet::ep {

// Ranks of a test as processes. Only these are ever signalled, by their process ids, and those that
// are left are killed at the end.
class ForkedRanks {
 public:
  static constexpr int kFailed = 99;

  // `body(rank)` runs in a child; its result is the exit code, 0: as expected.
  ForkedRanks(int ranks, const std::function<int(int rank)>& body) {
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        alarm(kLongestSeconds);
        _exit(body(rank));
      }
      pids_.push_back(pid);
    }
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;
  ForkedRanks(ForkedRanks&&) = delete;
  ForkedRanks& operator=(ForkedRanks&&) = delete;
  ~ForkedRanks() {
    for (const pid_t pid : pids_) {
      if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
      }
    }
  }

  void send(int rank, int signal) { kill(pids_.at(static_cast<std::size_t>(rank)), signal); }

  // The exit code, or minus the signal that ended it; kFailed after `limit`.
  int join(int rank, Duration limit = std::chrono::seconds(kLongestSeconds)) {
    pid_t& pid = pids_.at(static_cast<std::size_t>(rank));
    const Instant until = monotonic_now() + limit;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      if (monotonic_now() > until) {
        return kFailed;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  static constexpr int kLongestSeconds = 60;
  std::vector<pid_t> pids_;
};

// In a child: says so and ends with kFailed if it is false.
#define CHILD_EXPECT(condition)                                                   \
  do {                                                                            \
    if (!(condition)) {                                                           \
      std::fprintf(stderr, "%s:%d: child: %s\n", __FILE__, __LINE__, #condition); \
      _exit(ForkedRanks::kFailed);                                                \
    }                                                                             \
  } while (false)

}  // namespace mixnet::ep
