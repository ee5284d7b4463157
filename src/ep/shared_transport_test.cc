#include "ep/shared_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "ep/forked_test_support.h"
#include "ep/tcp_store.h"

namespace mixnet::ep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr uint64_t kTestWindow = uint64_t{1} << 20;
constexpr uint64_t kSlotBytes = 8192;

SharedOptions options_for(int rank, int ranks) {
  return SharedOptions{HostLinkOptions{RankMap({ranks}), rank, kTestWindow, 16384, seconds(20)},
                       milliseconds(10)};
}

std::unique_ptr<SharedTransport> must_open(const SharedOptions& options, Store& store) {
  auto transport = SharedTransport::open(options, store);
  if (!transport) {
    ADD_FAILURE() << transport.error().message;
    return nullptr;
  }
  return *std::move(transport);
}

uint16_t unused_port() {
  const net::UniqueFd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = net::numeric_addresses({"127.0.0.1", 0}).front();
  CHECK(bind(probe.get(), address.get(), address.size) == 0 &&
            getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address.storage),
                        &address.size) == 0,
        "loopback has ports");
  return address.host_port().port;
}

// Processes that meet over TCP, as ranks do that torchrun started.
class TransportRanks {
 public:
  TransportRanks(int ranks, const std::function<int(SharedTransport&)>& body)
      : address_{"127.0.0.1", unused_port()},
        children_(ranks, [&](int rank) { return run(rank, ranks, body); }) {}
  ForkedRanks& children() { return children_; }

 private:
  int run(int rank, int ranks, const std::function<int(SharedTransport&)>& body) const {
    std::unique_ptr<TcpStoreServer> server;
    if (rank == 0) {
      auto started = TcpStoreServer::start(address_);
      CHILD_EXPECT(started.ok());
      server = *std::move(started);
    }
    TcpStore store(address_);
    const auto transport = must_open(options_for(rank, ranks), store);
    CHILD_EXPECT(transport != nullptr);
    CHILD_EXPECT(meet_last(store, "last/", rank, ranks, monotonic_now() + seconds(20)).ok());
    return body(*transport);
  }

  net::HostPort address_;
  ForkedRanks children_;
};

Event next_event(Transport& transport, Duration limit = seconds(20)) {
  const Instant until = monotonic_now() + limit;
  while (true) {
    Event event = transport.poll();
    if (event.kind != Event::Kind::kNothing || monotonic_now() >= until) {
      return event;
    }
    transport.wait(until);
  }
}

// True when health(peer).gone within the limit.
bool learns_that_gone(Transport& transport, int peer, Duration limit = seconds(20)) {
  const Instant until = monotonic_now() + limit;
  while (!transport.health(peer).gone && monotonic_now() < until) {
    transport.wait(until);
  }
  return monotonic_now() < until;  // a wake-up that got lost is a failure, too
}

Duration silence_of(Transport& transport, int peer) {
  return transport.now() - transport.health(peer).heard;
}

std::byte pattern(int from, int to, uint32_t round) {
  return static_cast<std::byte>(from * 31 + to * 7 + static_cast<int>(round) + 1);
}

std::byte* slot_of(Transport& transport, int owner, int from, uint32_t round) {
  const auto slot = static_cast<uint64_t>(from) * 2 + round % 2;
  return transport.mapped(owner).data + slot * kSlotBytes;
}

// Everybody writes to everybody, posts a message and signals; a round of a rank ends when it has
// seen that of all others. Slots alternate, so that nobody overwrites what is still being read.
bool all_to_all_works(Transport& transport, uint32_t rounds) {
  const int ranks = transport.ranks().ranks();
  const int rank = transport.rank();
  std::vector<uint32_t> seen(at(ranks), 0);
  std::vector<uint32_t> messages(at(ranks), 0);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (int peer = 0; peer < ranks; ++peer) {
      std::memset(slot_of(transport, peer, rank, round),
                  std::to_integer<int>(pattern(rank, peer, round)), kSlotBytes);
      transport.post(peer, std::vector<std::byte>(round * 37 % 3000, pattern(rank, peer, round)));
      transport.signal(peer, kInsideHost, round);
    }
    while (*std::min_element(seen.begin(), seen.end()) <= round) {
      const Event event = next_event(transport);
      const std::size_t from = at(event.peer);
      if (event.kind == Event::Kind::kMessage) {
        const uint32_t number = messages[from]++;
        const std::byte expected = pattern(event.peer, rank, number);
        if (event.message.size() != number * 37 % 3000 ||
            std::any_of(event.message.begin(), event.message.end(),
                        [&](std::byte byte) { return byte != expected; })) {
          return false;
        }
        continue;
      }
      const std::byte* slot = slot_of(transport, rank, event.peer, event.immediate);
      const std::byte expected = pattern(event.peer, rank, event.immediate);
      if (event.kind != Event::Kind::kSignal || event.rail != kInsideHost ||
          event.immediate != seen[from]++ || messages[from] != seen[from] ||
          std::any_of(slot, slot + kSlotBytes, [&](std::byte byte) { return byte != expected; })) {
        return false;
      }
    }
  }
  return transport.drained();
}

class SharedTransportRanks : public testing::TestWithParam<int> {};

TEST_P(SharedTransportRanks, ExchangeSignalsAndWhatWasWrittenBefore) {
  const int ranks = GetParam();
  TransportRanks processes(ranks, [](SharedTransport& transport) {
    CHILD_EXPECT(all_to_all_works(transport, 20));
    return 0;
  });
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(processes.children().join(rank), 0) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SharedTransportRanks, testing::Values(1, 2, 5, 8));

// Ranks as threads, each with the transport that `body` gets.
void run_threads(int ranks, const std::function<void(Transport&)>& body) {
  MemoryStore store;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      if (const auto transport = must_open(options_for(rank, ranks), store)) {
        body(*transport);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(SharedTransport, ServesThreadsAsWell) {
  run_threads(4, [](Transport& transport) { EXPECT_TRUE(all_to_all_works(transport, 20)); });
}

TEST(SharedTransport, KeepsTheOrderOfMessagesThatFindTheRingFull) {
  constexpr uint32_t kMessages = 300;
  run_threads(2, [](Transport& transport) {
    if (transport.rank() == 0) {
      std::vector<std::byte> message(transport.largest_message());
      for (uint32_t number = 0; number < kMessages; ++number) {
        message.resize(number % 2 == 0 ? transport.largest_message() : number + 4);
        std::memcpy(message.data(), &number, sizeof number);
        transport.post(1, message);
        transport.signal(1, kInsideHost, number);
      }
      EXPECT_EQ(next_event(transport).immediate, 7U);
      return;
    }
    std::this_thread::sleep_for(milliseconds(20));
    for (uint32_t number = 0; number < kMessages; ++number) {
      const Event message = next_event(transport);
      ASSERT_EQ(message.kind, Event::Kind::kMessage);
      uint32_t read = 0;
      std::memcpy(&read, message.message.data(), sizeof read);
      ASSERT_EQ(read, number);
      ASSERT_EQ(next_event(transport).immediate, number);
    }
    transport.signal(0, kInsideHost, 7);
    EXPECT_TRUE(learns_that_gone(transport, 0));
  });
}

TEST(SharedTransport, DeliversWhatAPeerSentBeforeItLeft) {
  run_threads(2, [](Transport& transport) {
    if (transport.rank() == 1) {
      transport.signal(0, kInsideHost, 5);
      return;
    }
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(transport.health(1).gone);
    EXPECT_EQ(next_event(transport).immediate, 5U);
    EXPECT_TRUE(learns_that_gone(transport, 1));
    EXPECT_FALSE(transport.health(0).gone);
  });
}

TEST(SharedTransport, DeliversNothingFromAnAbandonedPeer) {
  run_threads(3, [](Transport& transport) {
    if (transport.rank() == 0) {
      transport.abandon(1);
      transport.signal(2, kInsideHost, 1);
      const Event event = next_event(transport);
      EXPECT_EQ(event.peer, 2);
      EXPECT_EQ(event.immediate, 2U);
      EXPECT_EQ(next_event(transport, milliseconds(20)).kind, Event::Kind::kNothing);
    } else if (transport.rank() == 1) {
      transport.signal(0, kInsideHost, 9);
      transport.signal(2, kInsideHost, 9);
    } else {
      // Not before rank 1 has sent what rank 0 is not to see.
      uint32_t sum = 0;
      while (sum < 10) {
        sum += next_event(transport).immediate;
      }
      transport.signal(0, kInsideHost, 2);
      EXPECT_TRUE(learns_that_gone(transport, 0));
    }
  });
}

TEST(SharedTransport, SurvivesAPeerThatSpoilsItsMemory) {
  std::atomic<bool> noticed{false};
  run_threads(2, [&](Transport& transport) {
    const Instant until = monotonic_now() + seconds(20);
    if (transport.rank() == 1) {
      const uint64_t control = host_control_bytes(2, options_for(0, 2).link.ring_bytes);
      std::memset(transport.mapped(0).data - control, 0xFF, control);
      while (!noticed && monotonic_now() < until) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return;
    }
    while (!transport.health(1).gone && monotonic_now() < until) {
      transport.signal(1, kInsideHost, 1);
      EXPECT_EQ(transport.poll().kind, Event::Kind::kNothing);
      transport.wait(monotonic_now() + milliseconds(1));
    }
    EXPECT_TRUE(transport.health(1).gone);
    noticed = true;
  });
}

TEST(SharedTransport, NamesRanksThatDoNotCome) {
  MemoryStore store;
  SharedOptions options = options_for(0, 3);
  options.link.deadline = milliseconds(30);
  const auto transport = SharedTransport::open(options, store);
  ASSERT_FALSE(transport.ok());
  EXPECT_THAT(transport.error().message, HasSubstr("ranks 1, 2 did not come"));
}

TEST(SharedTransport, NamesARankOfAnotherSizeOrVersion) {
  MemoryStore store;
  ASSERT_TRUE(store.set("mixnet/host/1", "something else", monotonic_now()).ok());
  const auto stranger = SharedTransport::open(options_for(0, 2), store);
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().message, HasSubstr("rank 1 runs another version of MixNet"));

  MemoryStore fresh;
  std::thread smaller([&] {
    SharedOptions options = options_for(1, 2);
    options.link.window_bytes /= 2;
    EXPECT_FALSE(SharedTransport::open(options, fresh).ok());
  });
  const auto transport = SharedTransport::open(options_for(0, 2), fresh);
  smaller.join();
  ASSERT_FALSE(transport.ok());
  EXPECT_THAT(transport.error().message,
              HasSubstr("rank 1 has a window of 524288 bytes and rings of 16384 bytes"));
}

TEST(SharedTransport, NoticesAKilledRankAtOnce) {
  TransportRanks processes(3, [](SharedTransport& transport) {
    if (transport.rank() == 2) {
      CHILD_EXPECT(next_event(transport).kind == Event::Kind::kSignal);
      CHILD_EXPECT(next_event(transport).kind == Event::Kind::kSignal);
      for (int peer = 0; peer < 2; ++peer) {
        const Instant killed = monotonic_now();
        std::memcpy(transport.mapped(peer).data, &killed, sizeof killed);
      }
      raise(SIGKILL);
    }
    transport.signal(2, kInsideHost, 0);
    CHILD_EXPECT(learns_that_gone(transport, 2));
    Instant killed;
    std::memcpy(&killed, transport.mapped(transport.rank()).data, sizeof killed);
    CHILD_EXPECT(monotonic_now() - killed < milliseconds(300));
    CHILD_EXPECT(!transport.health(1 - transport.rank()).gone);
    // Nothing that is sent to it now does harm.
    transport.post(2, std::vector<std::byte>(100));
    // Neither of the two leaves before the other has looked.
    transport.signal(1 - transport.rank(), kInsideHost, 1);
    CHILD_EXPECT(next_event(transport).immediate == 1);
    return 0;
  });
  EXPECT_EQ(processes.children().join(2), -SIGKILL);
  EXPECT_EQ(processes.children().join(0), 0);
  EXPECT_EQ(processes.children().join(1), 0);
}

TEST(SharedTransport, TellsAStoppedRankFromABusyOne) {
  TransportRanks processes(3, [](SharedTransport& transport) {
    const Instant until = monotonic_now() + seconds(20);
    if (transport.rank() == 0) {
      while (silence_of(transport, 1) < milliseconds(300)) {
        CHILD_EXPECT(monotonic_now() < until);
        CHILD_EXPECT(!transport.health(1).gone);
        transport.wait(monotonic_now() + milliseconds(5));
      }
      CHILD_EXPECT(silence_of(transport, 2) < milliseconds(200));
      return 0;
    }
    if (transport.rank() == 1) {
      raise(SIGSTOP);
      CHILD_EXPECT(learns_that_gone(transport, 0));
      return 0;
    }
    // Computes, and calls nothing but for news of rank 0.
    volatile uint64_t work = 1;
    while (monotonic_now() < until && !transport.health(0).gone) {
      for (int i = 0; i < 100'000; ++i) {
        work = work * 3 + 1;
      }
    }
    return 0;
  });
  EXPECT_EQ(processes.children().join(0), 0);
  processes.children().send(1, SIGCONT);
  EXPECT_EQ(processes.children().join(1), 0);
  EXPECT_EQ(processes.children().join(2), 0);
}

}  // namespace
}  // namespace mixnet::ep
