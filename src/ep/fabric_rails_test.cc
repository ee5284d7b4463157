#include "ep/fabric_rails.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ep/fabric_test_support.h"

namespace mixnet::ep {
namespace {

using std::chrono_literals::operator""ms;
using ::testing::HasSubstr;

constexpr std::array<uint64_t, 5> kSizes = {0, 1, 15, 4096, 3 * 1024 * 1024 + 1};
constexpr uint64_t kPart = 3 * 1024 * 1024 + 8192;  // one after the other, with gaps

// What `from` sends on `rail`: as many bytes as there are to send, starting where nobody else does.
const std::byte* pattern(int from, int rail) {
  static const std::vector<std::byte> bytes = [] {
    std::vector<std::byte> made(kPart + 256);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = static_cast<std::byte>(i * 13 + i / 251 + 1);
    }
    return made;
  }();
  return bytes.data() + from * 8 + rail;
}

uint64_t lane_offset(int from, int rail, int rails) { return at(from * rails + rail) * kPart; }

uint64_t start_of(std::size_t size_index) {
  uint64_t start = 0;
  for (std::size_t i = 0; i < size_index; ++i) {
    start += kSizes[i] + 3;
  }
  return start;
}

void send_all_sizes(FabricRails& self) {
  for (const int peer : others(self.rank(), self.ranks().ranks())) {
    for (int rail = 0; rail < self.rails(); ++rail) {
      for (std::size_t k = 0; k < kSizes.size(); ++k) {
        self.write({peer, rail, host_address(pattern(self.rank(), rail)), kSizes[k],
                    lane_offset(self.rank(), rail, self.rails()) + start_of(k)});
        self.signal(peer, rail, static_cast<uint32_t>(k));
      }
    }
  }
}

bool arrived(const TestRank& rank, const Event& event) {
  const uint64_t bytes = kSizes[event.immediate];
  const std::byte* const begin = rank.memory.data() +
                                 lane_offset(event.peer, event.rail, rank.rails->rails()) +
                                 start_of(event.immediate);
  return std::memcmp(begin, pattern(event.peer, event.rail), bytes) == 0 &&
         begin[bytes] == std::byte{0};  // not a byte more
}

void exchange_all_sizes(TestRank& self) {
  send_all_sizes(*self.rails);
  const int peers = self->ranks().ranks() - 1;
  const std::size_t expected = at(peers * self->rails()) * kSizes.size();
  std::map<std::pair<int, int>, uint32_t> next;
  for (std::size_t i = 0; i < expected; ++i) {
    const Event event = next_event(*self.rails);
    ASSERT_EQ(event.kind, Event::Kind::kSignal);
    const uint32_t in_order = next[{event.peer, event.rail}]++;
    ASSERT_EQ(event.immediate, in_order);
    EXPECT_TRUE(arrived(self, event)) << event.peer << ' ' << event.rail << ' ' << in_order;
  }
  EXPECT_TRUE(flush(*self.rails));
  EXPECT_TRUE(self->drained());
}

class Exchange : public testing::TestWithParam<std::tuple<int, int, bool>> {};

TEST_P(Exchange, BytesAreThereWhenTheSignalIsSeen) {
  const auto [ranks, rails, register_sources] = GetParam();
  TestFleet fleet(ranks, rails, at(ranks * rails) * kPart, register_sources);
  on_all(ranks, [&](int rank) { exchange_all_sizes(fleet[rank]); });
  uint64_t payload = 0;
  for (const uint64_t size : kSizes) {
    payload += size;
  }
  for (int rail = 0; rail < rails; ++rail) {
    EXPECT_EQ(fleet[0]->sent_bytes(rail), payload * at(ranks - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Fabric, Exchange,
                         testing::Values(std::tuple(2, 1, false), std::tuple(2, 4, true),
                                         std::tuple(3, 2, false), std::tuple(5, 1, false)));

TEST(FabricRails, SignalsBeyondTheDepthOfItsQueuesStayInOrder) {
  constexpr uint32_t kSignals = 10'000;
  TestFleet fleet(2, 1, 4096);
  on_all(2, [&](int rank) {
    FabricRails& self = *fleet[rank].rails;
    for (uint32_t i = 0; i < kSignals; ++i) {
      self.signal(1 - rank, 0, i);
    }
    for (uint32_t i = 0; i < kSignals; ++i) {
      ASSERT_EQ(next_event(self).immediate, i);
    }
    EXPECT_TRUE(flush(self));
  });
}

std::vector<std::byte> text_message(int number) {
  std::vector<std::byte> message(at(number % 4097));
  std::fill(message.begin(), message.end(), static_cast<std::byte>(number));
  return message;
}

// Message i, then a write of i + 1 whose signal is i, on every rail.
void send_mixed(FabricRails& self, std::vector<uint64_t>& sources) {
  const int peer = 1 - self.rank();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto number = static_cast<int>(i);
    self.post(peer, text_message(number));
    sources[i] = i + 1;
    const int rail = number % self.rails();
    self.write({peer, rail, host_address(&sources[i]), sizeof(uint64_t), i * sizeof(uint64_t)});
    self.signal(peer, rail, static_cast<uint32_t>(i));
    if (i % 5 == 0) {
      static_cast<void>(self.drained());
    }
  }
}

TEST(FabricRails, MessagesWritesAndSignalsGoBothWaysAtOnce) {
  constexpr std::size_t kRounds = 400;
  TestFleet fleet(2, 2, kRounds * sizeof(uint64_t));
  on_all(2, [&](int rank) {
    std::vector<uint64_t> sources(kRounds);
    FabricRails& self = *fleet[rank].rails;
    send_mixed(self, sources);
    int messages = 0;
    uint32_t signals = 0;
    while (messages + static_cast<int>(signals) < static_cast<int>(2 * kRounds)) {
      const Event event = next_event(self);
      ASSERT_NE(event.kind, Event::Kind::kNothing);
      EXPECT_EQ(event.peer, 1 - rank);
      if (event.kind == Event::Kind::kMessage) {
        ASSERT_EQ(event.message, text_message(messages++));
        continue;
      }
      ++signals;
      uint64_t value = 0;
      std::memcpy(&value, fleet[rank].memory.data() + event.immediate * sizeof(value),
                  sizeof(value));
      ASSERT_EQ(value, event.immediate + 1);
      if (event.rail == 0) {
        ASSERT_GT(messages, static_cast<int>(event.immediate));  // sent before, on this rail
      }
    }
    EXPECT_TRUE(flush(self));
  });
}

TEST(FabricRails, APeerThatEndsIsClosedAfterWhatItSentWasRead) {
  TestFleet fleet(3, 2, 4096);
  fleet[2]->signal(0, 1, 5);
  EXPECT_TRUE(flush(*fleet[2].rails));
  fleet[2].rails.reset();
  const Event last = next_event(*fleet[0].rails);
  EXPECT_EQ(last.peer, 2);
  EXPECT_EQ(last.immediate, 5U);
  EXPECT_TRUE(poll_until(*fleet[0].rails, [&] { return fleet[0]->closed(2); }));
  EXPECT_TRUE(fleet[0]->rail_closed(2, 0));
  EXPECT_FALSE(fleet[0]->closed(1));

  std::vector<std::byte> source(4096);
  fleet[0]->write({2, 0, host_address(source.data()), source.size(), 0});
  fleet[0]->post(2, source);
  EXPECT_TRUE(fleet[0]->flushed());  // dropped
  fleet[0]->signal(1, 0, 9);
  EXPECT_EQ(next_event(*fleet[1].rails).immediate, 9U);
}

TEST(FabricRails, SourcesAreFreeOnceThePeerIsGone) {
  constexpr uint64_t kBytes = 16 * 1024 * 1024;
  TestFleet fleet(2, 1, kBytes);
  std::vector<std::byte> source(kBytes);
  fleet[0]->write({1, 0, host_address(source.data()), kBytes, 0});
  EXPECT_FALSE(fleet[0]->drained());
  fleet[1].rails.reset();
  EXPECT_TRUE(poll_until(*fleet[0].rails, [&] { return fleet[0]->drained(); }));
  EXPECT_TRUE(fleet[0]->closed(1));
}

TEST(FabricRails, AbandonedPeersAreSilent) {
  TestFleet fleet(2, 2, 4096);
  fleet[1]->signal(0, 0, 1);
  fleet[1]->signal(0, 1, 2);
  EXPECT_TRUE(flush(*fleet[1].rails));
  fleet[0]->abandon(1);
  EXPECT_TRUE(fleet[0]->closed(1));
  EXPECT_EQ(fleet[0]->poll().kind, Event::Kind::kNothing);
  EXPECT_TRUE(poll_until(*fleet[1].rails, [&] { return fleet[1]->closed(0); }));
}

// Descriptors of connected sockets of this process, by their own IPv4 address.
std::multimap<std::string, int> connected_sockets() {
  std::multimap<std::string, int> sockets;
  for (int fd = 3; fd < 1024; ++fd) {
    std::array<std::string, 2> names;
    sockaddr_in address{};
    socklen_t bytes = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::getsockname(fd, generic, &bytes) != 0 || address.sin_family != AF_INET) {
      continue;
    }
    names[0] = inet_ntoa(address.sin_addr);
    bytes = sizeof(address);
    if (::getpeername(fd, generic, &bytes) != 0) {
      continue;
    }
    names[1] = inet_ntoa(address.sin_addr);
    EXPECT_EQ(names[0], names[1]);  // rail r to rail r
    sockets.emplace(names[0], fd);
  }
  return sockets;
}

TEST(FabricRails, EveryRailHasItsOwnAddress) {
  TestFleet fleet(3, 4, 4096);
  const auto sockets = connected_sockets();
  EXPECT_EQ(sockets.size(), 3U * 2 * 4);
  for (const char* address : {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}) {
    EXPECT_EQ(sockets.count(address), 6U) << address;
  }
}

TEST(FabricRails, ARailThatBreaksLeavesTheOthers) {
  TestFleet fleet(2, 2, 4096);
  for (const auto& [address, fd] : connected_sockets()) {
    if (address == "127.0.0.2") {
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  on_all(2, [&](int rank) {
    FabricRails& self = *fleet[rank].rails;
    const int peer = 1 - rank;
    EXPECT_TRUE(poll_until(self, [&] { return self.rail_closed(peer, 1); }));
    EXPECT_FALSE(self.closed(peer));
    self.signal(peer, 1, 1);  // dropped
    self.signal(peer, 0, 2);
    self.post(peer, text_message(7));
    EXPECT_EQ(next_event(self).immediate, 2U);
    EXPECT_EQ(next_event(self).message, text_message(7));
    EXPECT_TRUE(flush(self));
  });
}

TEST(FabricRails, NamesWhoDidNotCome) {
  std::vector<TestRank> ranks;
  std::vector<std::vector<std::byte>> contacts;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(TestRank(rank, 4, 2, 4096));
    contacts.push_back(ranks.back()->contact());
  }
  ranks[3].rails.reset();  // its listeners are gone, rank 0 is merely late
  on_all(4, [&](int rank) {
    if (rank == 0 || rank == 3) {
      return;
    }
    const Status status = ranks[at(rank)]->connect(contacts, others(rank, 4), 300ms);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().text(),
                HasSubstr("missing: rank 0 (rails 0, 1), rank 3 (rails 0, 1)"));
    EXPECT_FALSE(ranks[at(rank)]->closed(3 - rank));
    EXPECT_TRUE(ranks[at(rank)]->closed(0));
  });
}

TEST(FabricRails, ComesTogetherLater) {
  std::array<TestRank, 2> ranks{TestRank(0, 2, 1, 4096), TestRank(1, 2, 1, 4096)};
  const std::vector<std::vector<std::byte>> contacts{ranks[0]->contact(), ranks[1]->contact()};
  EXPECT_FALSE(ranks[1]->connect(contacts, others(1, 2), 20ms).ok());
  EXPECT_FALSE(ranks[0]->connect(contacts, others(0, 2), 20ms).ok());
  on_all(2, [&](int rank) {
    EXPECT_TRUE(ranks[at(rank)]->connect(contacts, others(rank, 2), kTestDeadline).ok());
  });
  ranks[0]->signal(1, 0, 3);
  EXPECT_EQ(next_event(*ranks[1].rails).immediate, 3U);
}

TEST(FabricRails, StrangersAreRefused) {
  std::array<TestRank, 2> ranks{TestRank(0, 2, 1, 4096), TestRank(1, 2, 1, 4096)};
  std::vector<std::vector<std::byte>> contacts{ranks[0]->contact(), ranks[1]->contact()};
  contacts[1][8] ^= std::byte{1};  // the token of an earlier run
  on_all(2, [&](int rank) {
    const Status status = ranks[at(rank)]->connect(contacts, others(rank, 2), 200ms);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().text(), HasSubstr("missing: rank " + std::to_string(1 - rank)));
  });
}

TEST(FabricRails, RefusesContactsThatDoNotFit) {
  TestRank self(0, 2, 2, 4096);
  TestRank one_nic(1, 2, 1, 4096);
  const std::array<int, 1> peers{1};
  const auto error = [&](std::vector<std::byte> contact) {
    const Status status = self->connect({{}, std::move(contact)}, peers, 100ms);
    return status.ok() ? "" : status.error().text();
  };
  EXPECT_THAT(error({}), HasSubstr("contact of rank 1: 0 bytes"));
  EXPECT_THAT(error(self->contact()), HasSubstr("contact of rank 1: it is that of rank 0"));
  EXPECT_THAT(error(one_nic->contact()), HasSubstr("rank 1 has 1 NICs, rank 0 has 2"));
}

TEST(FabricRails, NamesTheNicThatIsNone) {
  std::vector<std::byte> memory(64);
  FabricRails::Options options;
  options.window = Window{host_address(memory.data()), memory.size()};
  for (const char* name : {"no-such-nic", "203.0.113.7"}) {
    options.nics = {name};
    const auto rails = FabricRails::open(options);
    ASSERT_FALSE(rails.ok());
    EXPECT_THAT(rails.error().text(), HasSubstr(name));
  }
}

TEST(FabricRails, NamesOfInterfacesWork) {
  std::vector<std::byte> memory(64);
  FabricRails::Options options;
  options.window = Window{host_address(memory.data()), memory.size()};
  options.nics = {"lo"};
  EXPECT_TRUE(FabricRails::open(options).ok());
}

TEST(FabricRails, WaitsWithoutComputing) {
  TestFleet fleet(2, 2, 4096);
  const std::clock_t before = std::clock();
  const auto end = std::chrono::steady_clock::now() + 200ms;
  while (std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(fleet[0]->poll().kind, Event::Kind::kNothing);
    fleet[0]->wait(100ms);
  }
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20);
}

}  // namespace
}  // namespace mixnet::ep
