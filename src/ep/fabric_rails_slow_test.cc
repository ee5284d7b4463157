#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "ep/fabric_test_support.h"

namespace mixnet::ep {
namespace {

using Bytes = std::vector<std::byte>;

struct TestPipe {
  int ends[2] = {-1, -1};
  TestPipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~TestPipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  TestPipe(const TestPipe&) = delete;
  TestPipe& operator=(const TestPipe&) = delete;
  TestPipe(TestPipe&&) = delete;
  TestPipe& operator=(TestPipe&&) = delete;

  void put(const Bytes& bytes) const {
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  Bytes take() const {
    Bytes bytes(4096);
    const ssize_t count = ::read(ends[0], bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }
};

constexpr uint64_t kWindowBytes = 1 << 20;

// Rank 1 in a process of its own: connects, then writes for ever.
[[noreturn]] void write_for_ever(const TestPipe& to_parent, const TestPipe& to_child) {
  TestRank self(1, 2, 2, kWindowBytes);
  to_parent.put(self->contact());
  const std::vector<Bytes> contacts{to_child.take(), self->contact()};
  if (!self->connect(contacts, others(1, 2), kTestDeadline).ok()) {
    ::_exit(1);
  }
  while (true) {
    if (self->drained()) {
      self->write({0, 0, host_address(self.memory.data()), kWindowBytes, 0});
      self->signal(0, 0, 1);
    }
    static_cast<void>(self->poll());
  }
}

// Rank 0 here, connected with rank 1 in a child process.
struct WithChild {
  TestPipe to_parent;
  TestPipe to_child;
  pid_t child = ::fork();
  TestRank self;

  WithChild() {
    EXPECT_GE(child, 0);
    if (child == 0) {
      write_for_ever(to_parent, to_child);
    }
    self = TestRank(0, 2, 2, kWindowBytes);
    to_child.put(self->contact());
    const std::vector<Bytes> contacts{self->contact(), to_parent.take()};
    EXPECT_TRUE(self->connect(contacts, others(0, 2), kTestDeadline).ok());
    EXPECT_EQ(next_event(*self.rails).kind, Event::Kind::kSignal);
  }
  ~WithChild() {
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  WithChild(const WithChild&) = delete;
  WithChild& operator=(const WithChild&) = delete;
  WithChild(WithChild&&) = delete;
  WithChild& operator=(WithChild&&) = delete;
};

TEST(FabricDeath, AKilledPeerIsClosedSoon) {
  WithChild pair;
  FabricRails& self = *pair.self.rails;
  self.write({1, 1, host_address(pair.self.memory.data()), kWindowBytes, 0});
  EXPECT_EQ(::kill(pair.child, SIGKILL), 0);
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_TRUE(poll_until(self, [&] { return self.closed(1); }));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(5));
  EXPECT_TRUE(self.drained());
}

TEST(FabricDeath, AStoppedPeerIsAbandonedAtOnce) {
  WithChild pair;
  FabricRails& self = *pair.self.rails;
  EXPECT_EQ(::kill(pair.child, SIGSTOP), 0);
  for (int i = 0; i < 64; ++i) {  // more than sockets hold
    self.write({1, i % 2, host_address(pair.self.memory.data()), kWindowBytes, 0});
    self.signal(1, i % 2, 0);
    self.post(1, Bytes(4096));
  }
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(self.poll());
  EXPECT_FALSE(self.drained());
  self.abandon(1);
  EXPECT_TRUE(self.flushed());
  EXPECT_TRUE(self.closed(1));
  EXPECT_EQ(self.poll().kind, Event::Kind::kNothing);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(FabricLoad, BothWaysMoreThanSocketsHold) {
  constexpr int kWrites = 64;
  TestFleet fleet(2, 2, 2 * kWindowBytes);
  on_all(2, [&](int rank) {
    FabricRails& self = *fleet[rank].rails;
    const Bytes source(kWindowBytes);
    for (int i = 0; i < kWrites; ++i) {
      self.write(
          {1 - rank, i % 2, host_address(source.data()), kWindowBytes, at(i % 2) * kWindowBytes});
      self.signal(1 - rank, i % 2, 0);
    }
    for (int i = 0; i < kWrites; ++i) {
      ASSERT_EQ(next_event(self).kind, Event::Kind::kSignal);
    }
    EXPECT_TRUE(flush(self));
  });
}

TEST(FabricLoad, ManyRanksConnectAtOnce) {
  constexpr int kRanks = 16;
  TestFleet fleet(kRanks, 2, 4096);
  on_all(kRanks, [&](int rank) {
    FabricRails& self = *fleet[rank].rails;
    for (const int peer : others(rank, kRanks)) {
      self.signal(peer, 0, 0);
      self.signal(peer, 1, 1);
    }
    for (int i = 0; i < 2 * (kRanks - 1); ++i) {
      const Event event = next_event(self);
      ASSERT_EQ(event.kind, Event::Kind::kSignal);
      EXPECT_EQ(static_cast<int>(event.immediate), event.rail);
    }
    EXPECT_TRUE(flush(self));
  });
}

}  // namespace
}  // namespace mixnet::ep
