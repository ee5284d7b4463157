#include "net/asio_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <vector>

namespace mixnet::net {
namespace {

using std::chrono::milliseconds;

TEST(AsioLoop, CallsTimersInOrderAndReadsTheClockOncePerTurn) {
  AsioLoop loop;
  std::vector<int> called;
  std::vector<Instant> times;
  const Instant start = loop.now();
  const Instant soon = start + milliseconds(2);
  for (int i = 0; i < 5; ++i) {
    loop.call_at(soon, [&, i] {
      called.push_back(i);
      times.push_back(loop.now());
    });
  }
  loop.call_at(start, [&] { called.push_back(-1); });
  loop.call_at(soon + milliseconds(1), [&] { loop.stop(); });
  EXPECT_TRUE(called.empty());
  loop.run();
  EXPECT_EQ(called, (std::vector{-1, 0, 1, 2, 3, 4}));
  for (const Instant time : times) {
    EXPECT_GE(time, soon);
    EXPECT_EQ(time, times.front());
  }
}

TEST(AsioLoop, AnEarlierTimerOvertakesAndCancelledOnesAreSilent) {
  AsioLoop loop;
  int late = 0;
  const TimerId far = loop.call_at(loop.now() + std::chrono::hours(1), [&] { ++late; });
  const TimerId never = loop.call_at(loop.now() + milliseconds(1), [&] { ++late; });
  loop.cancel(never);
  loop.call_at(loop.now() + milliseconds(2), [&] { loop.stop(); });
  loop.run();
  loop.cancel(far);
  loop.cancel(far);
  EXPECT_EQ(late, 0);
}

TEST(AsioLoop, ATimerThatKeepsSettingItselfLeavesTurnsToOthers) {
  AsioLoop loop;
  bool stop = false;
  std::function<void()> again = [&] {
    if (!stop) {
      loop.call_at(loop.now(), again);
    }
  };
  loop.call_at(loop.now(), again);
  loop.post([&] {
    stop = true;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(stop);
}

TEST(AsioLoop, PostsFromManyThreadsArriveOnceAndInOrder) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 500;
  AsioLoop loop;
  std::vector<std::vector<int>> arrived(kThreads);
  int total = 0;
  const auto loop_thread = std::this_thread::get_id();
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        loop.post([&, t, i] {
          EXPECT_EQ(std::this_thread::get_id(), loop_thread);
          arrived[t].push_back(i);
          if (++total == kThreads * kPosts) {
            loop.stop();
          }
        });
      }
    });
  }
  loop.run();
  for (const auto& of_thread : arrived) {
    ASSERT_EQ(of_thread.size(), static_cast<std::size_t>(kPosts));
    EXPECT_TRUE(std::ranges::is_sorted(of_thread));
  }
}

TEST(AsioLoop, RunsAgainAfterAStop) {
  AsioLoop loop;
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    loop.post([&] {
      ++calls;
      loop.stop();
    });
    loop.run();
  }
  EXPECT_EQ(calls, 3);
}

TEST(AsioLoop, HandsSignalsOver) {
  AsioLoop loop;
  std::vector<int> seen;
  loop.on_signals({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 1) {
      ::raise(SIGUSR2);
    } else {
      loop.stop();
    }
  });
  ::raise(SIGUSR1);
  loop.run();
  EXPECT_EQ(seen, (std::vector{SIGUSR1, SIGUSR2}));
}

TEST(AsioLoop, WatchesADescriptorUntilTheWatchIsGone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  AsioLoop loop;
  int calls = 0;
  std::unique_ptr<FdWatch> watch = loop.watch(ends[0], [&](Readiness what) {
    EXPECT_EQ(what, Readiness::kReadable);
    if (++calls == 3) {  // as long as there is something to read
      watch.reset();
      loop.post([&] { loop.stop(); });
    }
  });
  watch->want(true, false);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  loop.run();
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(::write(ends[1], "y", 1), 1) << "the watch does not own the descriptor";
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(AsioLoop, LooksUpNamesOutsideOfTheLoop) {
  AsioLoop loop;
  std::vector<std::string> found;
  std::string error;
  int done = 0;
  const auto finish = [&] {
    if (++done == 2) {
      loop.stop();
    }
  };
  loop.resolve({"localhost", 3082}, [&](Result<std::vector<SocketAddress>> addresses) {
    ASSERT_TRUE(addresses.ok());
    for (const SocketAddress& address : *addresses) {
      found.push_back(address.host_port().text());
    }
    finish();
  });
  loop.resolve({"no such name", 1}, [&](Result<std::vector<SocketAddress>> addresses) {
    ASSERT_FALSE(addresses.ok());
    error = addresses.error().text();
    finish();
  });
  EXPECT_EQ(done, 0);
  loop.run();
  EXPECT_NE(std::ranges::find(found, "127.0.0.1:3082"), found.end());
  EXPECT_EQ(error.rfind("no such name:1: the name has no address", 0), 0U) << error;
}

TEST(AsioLoop, DestroysWhatStillWaits) {
  const auto token = std::make_shared<int>(0);
  {
    AsioLoop loop;
    loop.post([token] {});
    loop.call_at(loop.now(), [token] {});
    // What a timer holds may cancel others when it goes.
    TimerId other = loop.call_at(loop.now() + milliseconds(1), [token] {});
    loop.call_at(loop.now(), [guard = std::shared_ptr<void>(
                                  nullptr, [&loop, other](void*) { loop.cancel(other); })] {});
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace mixnet::net
