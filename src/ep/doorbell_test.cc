#include "ep/doorbell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "ep/monotonic.h"

namespace mixnet::ep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of one process: a word, its doorbell and a bell.
struct TestDoorbell {
  std::atomic<uint32_t> word{0};
  std::optional<Doorbell> sleeper;
  std::optional<Bell> bell;

  explicit TestDoorbell(WaitPolicy policy = {}) {
    auto created = Doorbell::create(word, policy);
    CHECK(created, "a doorbell");
    sleeper.emplace(*std::move(created));
    auto own = sleeper->own_bell();
    CHECK(own, "a bell");
    bell.emplace(*std::move(own));
  }
};

TEST(Doorbell, WaitsUntilTheDeadline) {
  TestDoorbell door;
  const Instant start = monotonic_now();
  door.sleeper->wait([] { return false; }, start + milliseconds(20));
  EXPECT_GE(monotonic_now(), start + milliseconds(20));
  std::array<pollfd, 1> more{pollfd{-1, POLLIN, 0}};
  door.sleeper->wait([] { return false; }, more, start + milliseconds(40));
  EXPECT_GE(monotonic_now(), start + milliseconds(40));
  door.sleeper->wait([] { return false; }, start);  // over already
}

// Two threads that wake each other: a wake-up that gets lost costs 10 s.
void play_rounds(WaitPolicy policy, bool with_descriptors) {
  constexpr int kRounds = 500;
  TestDoorbell left(policy);
  TestDoorbell right(policy);
  std::atomic<int> ball{0};
  const Instant late = monotonic_now() + seconds(10);
  const auto play = [&](TestDoorbell& own, TestDoorbell& other, int parity) {
    const Doorbell::Ready ready = [&] {
      return ball.load(std::memory_order_acquire) % 2 == parity;
    };
    for (int round = 0; round < kRounds; ++round) {
      while (!ready()) {
        if (with_descriptors) {
          own.sleeper->wait(ready, {}, late);
        } else {
          own.sleeper->wait(ready, late);
        }
      }
      ball.fetch_add(1, std::memory_order_release);
      other.bell->ring();
    }
  };
  std::thread opponent([&] { play(right, left, 1); });
  play(left, right, 0);
  opponent.join();
  EXPECT_EQ(ball.load(), 2 * kRounds);
  EXPECT_LT(monotonic_now(), late);
}

TEST(Doorbell, LosesNoWakeUp) {
  play_rounds({}, false);
  play_rounds({0, 3}, false);
  play_rounds({100, 0}, false);
  play_rounds({}, true);
}

TEST(Doorbell, ReturnsWhenADescriptorIsReady) {
  TestDoorbell door;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const net::UniqueFd reading(ends[0]);
  const net::UniqueFd writing(ends[1]);
  ASSERT_EQ(write(writing.get(), "x", 1), 1);
  std::array<pollfd, 1> more{pollfd{reading.get(), POLLIN, 0}};
  const Instant late = monotonic_now() + seconds(10);
  door.sleeper->wait([] { return false; }, more, late);
  EXPECT_EQ(more[0].revents, POLLIN);
  EXPECT_LT(monotonic_now(), late);
}

TEST(Doorbell, RingingSomebodyWhoIsAwakeDoesNothing) {
  TestDoorbell door;
  for (int i = 0; i < 100'000; ++i) {
    door.bell->ring();
  }
  const Instant until = monotonic_now() + milliseconds(10);
  door.sleeper->wait([] { return false; }, {}, until);
  EXPECT_GE(monotonic_now(), until);
}

TEST(Doorbell, SpinsOnlyWithAProcessorForEveryRank) {
  EXPECT_GT(choose_wait_policy(2, 2).spins, 0);
  EXPECT_EQ(choose_wait_policy(3, 2).spins, 0);
  EXPECT_GE(usable_hardware_threads(), 1);
}

}  // namespace
}  // namespace mixnet::ep
