#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

// What the loops between two processes share: a pipe each way, the sizes, the line of JSON.
namespace mixnet::bench {

inline constexpr int kWindow = 16;  // writes in flight

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

inline void require(bool condition, const char* what) {
  if (!condition) {
    give_up(std::string("failed: ") + what);
  }
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    read_end = ends[0];
    write_end = ends[1];
  }

  void put(const std::vector<std::byte>& bytes) const {
    require(write(write_end, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "writing to a pipe");
  }
  std::vector<std::byte> take() const {
    std::vector<std::byte> bytes(4096);
    const ssize_t count = read(read_end, bytes.data(), bytes.size());
    require(count > 0, "reading from a pipe");
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  }
};

struct Pipes {
  Pipe to_receiver;
  Pipe to_sender;
};

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double cpu_s_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Between processes on different CPUs, or the scheduler decides who is faster.
inline void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));
}

inline void enter_namespace(const std::string& name) {
  const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0 && setns(fd, CLONE_NEWNET) == 0,
          "entering the network namespace of the receiver");
  close(fd);
}

// How many writes take about `seconds`.
inline uint64_t writes_for(uint64_t bytes, double seconds) {
  constexpr double kBytesPerSecond = 2e9;
  constexpr double kSecondsPerWrite = 5e-6;
  const double one = static_cast<double>(bytes) / kBytesPerSecond + kSecondsPerWrite;
  return static_cast<uint64_t>(seconds / one) + kWindow;
}

struct Loop {
  const char* name;
  // Returns when everything has arrived: seconds from the first write to the last.
  std::function<double(Pipes&, uint64_t bytes, uint64_t writes)> send;
  std::function<void(Pipes&, uint64_t bytes, uint64_t writes)> receive;
};

// One size: the receiver in a child process. Prints the line.
inline void run_loop(const Loop& loop, uint64_t bytes, uint64_t writes,
                     const std::string& receiver_namespace) {
  Pipes pipes;
  const double own_before = cpu_s_of(RUSAGE_SELF);
  const double children_before = cpu_s_of(RUSAGE_CHILDREN);
  const pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    pin_to(1);
    if (!receiver_namespace.empty()) {
      enter_namespace(receiver_namespace);
    }
    loop.receive(pipes, bytes, writes);
    std::exit(0);
  }
  pin_to(0);
  const double seconds = loop.send(pipes, bytes, writes);
  int status = 0;
  require(waitpid(child, &status, 0) == child && status == 0, "the receiver");
  const double cpu =
      cpu_s_of(RUSAGE_SELF) - own_before + cpu_s_of(RUSAGE_CHILDREN) - children_before;
  std::printf(
      "{\"name\": \"%s\", \"bytes\": %llu, \"window\": %d, \"writes\": %llu, \"seconds\": %.4f, "
      "\"mb_per_s\": %.1f, \"cpu_s\": %.3f}\n",
      loop.name, static_cast<unsigned long long>(bytes), kWindow,
      static_cast<unsigned long long>(writes), seconds,
      static_cast<double>(bytes) * static_cast<double>(writes) / seconds * 1e-6, cpu);
  std::fflush(stdout);
}

}  // namespace mixnet::bench
