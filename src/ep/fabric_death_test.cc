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

// Rank 1 in a process of its own: connects, then writes for ever.
[[noreturn]] void write_for_ever(const TestPipe& to_parent, const TestPipe& to_child) {
  TestRank self(1, 2, 2, 1 << 20);
  to_parent.put(self->contact());
  const std::vector<Bytes> contacts{to_child.take(), self->contact()};
  if (!self->connect(contacts, others(1, 2), kTestDeadline).ok()) {
    ::_exit(1);
  }
  while (true) {
    if (self->drained()) {
      self->write({0, 0, host_address(self.memory.data()), 1 << 20, 0});
      self->signal(0, 0, 1);
    }
    static_cast<void>(self->poll());
  }
}

TEST(FabricDeath, AKilledPeerIsClosedSoon) {
  TestPipe to_parent;
  TestPipe to_child;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    write_for_ever(to_parent, to_child);
  }
  TestRank self(0, 2, 2, 1 << 20);
  to_child.put(self->contact());
  const std::vector<Bytes> contacts{self->contact(), to_parent.take()};
  const Status connected = self->connect(contacts, others(0, 2), kTestDeadline);
  EXPECT_TRUE(connected.ok());
  if (connected.ok()) {
    EXPECT_EQ(next_event(*self.rails).kind, Event::Kind::kSignal);
    self->write({1, 1, host_address(self.memory.data()), 1 << 20, 0});
  }
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(poll_until(*self.rails, [&] { return self->closed(1); }));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(5));
  EXPECT_TRUE(self->drained());
}

}  // namespace
}  // namespace mixnet::ep
