#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/result.h"

// Independent pieces of work, each in a process of its own: one that runs out of memory or hits a
// bug of ours loses its own result and no other.
namespace mixnet::cli {

struct WorkerPool {
  int jobs = 1;  // processes at once, at least 1
  // Runs in a child process; what it returns is carried to the parent.
  std::function<std::string(std::size_t item)> work;
  // Called in the parent as items complete, with an Error if the process ended otherwise than by
  // returning. A failure stops the pool.
  std::function<Status(std::size_t item, const Result<std::string>& output)> done;
  // Called between completions, a few times a second.
  std::function<void()> idle;
};

// Works through items 0 to count - 1, started in order. Children die with this process, whatever
// ends it. Returns the first failure of done(), or that no process could be started. The calling
// process has one thread.
Status run_workers(const WorkerPool& pool, std::size_t count);

}  // namespace mixnet::cli
