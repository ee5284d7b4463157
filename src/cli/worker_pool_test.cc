#include "cli/worker_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <vector>

namespace mixnet::cli {
namespace {

TEST(WorkerPool, EveryItemIsDoneOnceWhateverItsSize) {
  for (const int jobs : {1, 2, 5}) {
    std::map<std::size_t, std::string> outputs;
    WorkerPool pool;
    pool.jobs = jobs;
    // From nothing to many times what a pipe holds.
    pool.work = [](std::size_t item) { return std::string(item * item * 10'000, 'a'); };
    pool.done = [&](std::size_t item, const Result<std::string>& output) {
      EXPECT_TRUE(output.ok());
      EXPECT_TRUE(outputs.emplace(item, *output).second) << item;
      return Status();
    };
    ASSERT_TRUE(run_workers(pool, 9).ok());
    ASSERT_EQ(outputs.size(), 9U);
    for (const auto& [item, output] : outputs) {
      EXPECT_EQ(output.size(), item * item * 10'000);
    }
  }
}

TEST(WorkerPool, OneThatDiesLosesOnlyItsOwnResult) {
  std::vector<std::string> outputs(4);
  WorkerPool pool;
  pool.jobs = 2;
  pool.work = [](std::size_t item) -> std::string {
    if (item == 1) {
      kill(getpid(), SIGKILL);
    }
    if (item == 2) {
      _exit(3);
    }
    return "fine";
  };
  pool.done = [&](std::size_t item, const Result<std::string>& output) {
    outputs[item] = output.ok() ? *output : output.error().message;
    return Status();
  };
  ASSERT_TRUE(run_workers(pool, 4).ok());
  EXPECT_EQ(outputs[0], "fine");
  EXPECT_NE(outputs[1].find("signal 9"), std::string::npos) << outputs[1];
  EXPECT_NE(outputs[2].find("exit code 3"), std::string::npos) << outputs[2];
  EXPECT_EQ(outputs[3], "fine");
}

TEST(WorkerPool, AFailureOfTheReceiverStopsIt) {
  int received = 0;
  WorkerPool pool;
  pool.jobs = 1;
  pool.work = [](std::size_t) { return std::string("x"); };
  pool.done = [&](std::size_t, const Result<std::string>&) {
    ++received;
    return Status(Error{"disk full", ""});
  };
  const Status status = run_workers(pool, 100);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_EQ(received, 1);
}

}  // namespace
}  // namespace mixnet::cli
