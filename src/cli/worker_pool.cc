#include "cli/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "core/check.h"

namespace mixnet::cli {
namespace {

constexpr int kIdleMs = 250;

struct Worker {
  pid_t pid = 0;
  int pipe = -1;
  std::size_t item = 0;
  std::string output;
};

Error system_failure(const char* what) {
  return Error{fmt::format("{}: {}", what, std::strerror(errno)), ""};
}

void write_or_exit(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(descriptor, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      _exit(1);
    }
    at += static_cast<std::size_t>(written);
  }
}

// Ends without running what the parent will run: no destructors, no flush of its streams.
[[noreturn]] void child_main(const WorkerPool& pool, std::size_t item, int pipe, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // it died before the line above
  }
  write_or_exit(pipe, pool.work(item));
  _exit(0);
}

Result<Worker> start(const WorkerPool& pool, std::size_t item) {
  int ends[2];
  if (pipe(ends) != 0) {
    return system_failure("cannot make a pipe to a worker");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const Error error = system_failure("cannot start a worker process");
    close(ends[0]);
    close(ends[1]);
    return error;
  }
  if (pid == 0) {
    close(ends[0]);
    child_main(pool, item, ends[1], parent);
  }
  close(ends[1]);
  return Worker{pid, ends[0], item, ""};
}

// Reads what has arrived; false at the end of the output.
bool read_some(Worker& worker) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(worker.pipe, buffer.data(), buffer.size());
  if (got > 0) {
    worker.output.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

// Waits for the process, which has closed its pipe and is about to end.
Result<std::string> finish(Worker& worker) {
  close(worker.pipe);
  int status = 0;
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return std::move(worker.output);
  }
  if (WIFSIGNALED(status)) {
    const bool killed = WTERMSIG(status) == SIGKILL;
    return Error{
        fmt::format("its process was ended by signal {} ({}){}", WTERMSIG(status),
                    strsignal(WTERMSIG(status)), killed ? ": out of memory, if nobody did it" : ""),
        ""};
  }
  return Error{fmt::format("its process ended with exit code {}", WEXITSTATUS(status)), ""};
}

void stop(std::vector<Worker>& workers) {
  for (Worker& worker : workers) {
    kill(worker.pid, SIGKILL);
    const Result<std::string> discarded = finish(worker);
    (void)discarded.ok();
  }
  workers.clear();
}

// Waits a moment for output and hands on what is complete.
Status turn(const WorkerPool& pool, std::vector<Worker>& workers) {
  std::vector<pollfd> polled;
  for (const Worker& worker : workers) {
    polled.push_back({worker.pipe, POLLIN, 0});
  }
  if (poll(polled.data(), polled.size(), kIdleMs) < 0 && errno != EINTR) {
    return system_failure("cannot wait for the workers");
  }
  Status status;
  std::vector<Worker> running;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    if (polled[w].revents == 0 || read_some(workers[w])) {
      running.push_back(std::move(workers[w]));
      continue;
    }
    const Status handed = pool.done(workers[w].item, finish(workers[w]));
    status = status.ok() ? handed : status;
  }
  workers = std::move(running);
  return status;
}

}  // namespace

Status run_workers(const WorkerPool& pool, std::size_t count) {
  CHECK(pool.jobs >= 1, "somebody works");
  std::vector<Worker> workers;
  Status status;
  for (std::size_t next = 0; status.ok() && (next < count || !workers.empty());) {
    if (next < count && workers.size() < static_cast<std::size_t>(pool.jobs)) {
      Result<Worker> worker = start(pool, next);
      if (!worker.ok()) {
        status = worker.error();
        break;
      }
      workers.push_back(*std::move(worker));
      ++next;
      continue;
    }
    status = turn(pool, workers);
    if (pool.idle) {
      pool.idle();
    }
  }
  stop(workers);
  return status;
}

}  // namespace mixnet::cli
