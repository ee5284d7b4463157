#include "ep/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace mixnet::ep {
namespace {

TEST(Worker, StaysOnTheCallingThreadWhileEverybodyWaits) {
  Worker worker;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(worker.run([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  }
}

TEST(Worker, WhoStartsDoesNotWait) {
  Worker worker;
  std::promise<int> number;
  auto result = worker.start([&] { return number.get_future().get() + 1; });
  number.set_value(41);
  EXPECT_EQ(result.get(), 42);
}

TEST(Worker, RunComesAfterAllThatWasStarted) {
  Worker worker;
  std::vector<int> order;
  std::promise<void> open;
  auto first = worker.start([&] {
    open.get_future().wait();
    order.push_back(0);
  });
  std::vector<std::future<void>> others;
  for (int i = 1; i < 50; ++i) {
    others.push_back(worker.start([&, i] { order.push_back(i); }));
  }
  open.set_value();
  worker.run([&] { order.push_back(50); });
  ASSERT_EQ(order.size(), 51u);
  for (int i = 0; i <= 50; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

// Several threads that wait, and one that does not: still one task at a time.
TEST(Worker, TasksNeverOverlap) {
  constexpr int kTasks = 200;
  Worker worker;
  int inside = 0;  // unguarded on purpose: tasks follow one another
  int done = 0;
  bool alone = true;
  const auto task = [&] {
    alone = alone && ++inside == 1;
    std::this_thread::yield();
    --inside;
    ++done;
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kTasks; ++i) {
          if (thread == 0) {
            worker.start(task).wait();
          } else {
            worker.run(task);
          }
        }
      });
    }
  }
  EXPECT_TRUE(alone);
  EXPECT_EQ(done, 3 * kTasks);
}

TEST(Worker, EndsAfterTheLastTask) {
  std::atomic<int> done{0};
  {
    Worker worker;
    for (int i = 0; i < 10; ++i) {
      worker.start([&] { ++done; });
    }
  }
  EXPECT_EQ(done, 10);
}

TEST(Worker, AnExceptionReachesWhoWaitsAndHoldsUpNobody) {
  Worker worker;
  EXPECT_THROW(worker.run([]() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  auto result = worker.start([]() -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(result.get(), std::runtime_error);
  EXPECT_EQ(worker.run([] { return 5; }), 5);
}

// Moved out of the future, it is the caller's alone.
TEST(Worker, ResultsMayBeMoveOnly) {
  Worker worker;
  auto result = worker.start([] { return std::make_unique<int>(7); });
  EXPECT_EQ(*result.get(), 7);
}

}  // namespace
}  // namespace mixnet::ep
