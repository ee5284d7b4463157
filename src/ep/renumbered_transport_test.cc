#include "ep/renumbered_transport.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ep/simulated_fabric.h"

namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

// Hosts {0}, {1, 2}, {3, 4}, {5}, of which 0 and 2 are lost: survivors {1}, {3, 4}, {5} as {0},
// {1, 2}, {3}.
constexpr int kOldRanks = 6;
constexpr int kNewRanks = 4;

RankSet two_lost() {
  RankSet lost(kOldRanks);
  lost.add(0);
  lost.add(2);
  return lost;
}

// `body` runs on all ranks of the old numbering.
void on_old_ranks(const std::function<void(Transport&)>& body) {
  SimulationOptions options;
  options.ranks = RankMap({1, 2, 2, 1});
  options.rails = 2;
  options.window_bytes = 64 << 10;
  run_simulated(options, {}, body);
}

// `body` runs on the survivors.
void on_survivors(const std::function<void(RenumberedTransport&)>& body) {
  on_old_ranks([&](Transport& transport) {
    if (!two_lost().has(transport.rank())) {
      RenumberedTransport survivors(std::shared_ptr<Transport>(&transport, [](Transport*) {}),
                                    two_lost());
      body(survivors);
    }
  });
}

Event event_of(Transport& transport) {
  for (const Instant until = transport.now() + 1s; transport.now() < until;) {
    Event event = transport.poll();
    if (event.kind != Event::Kind::kNothing) {
      return event;
    }
    transport.wait(until);
  }
  return {};
}

TEST(RenumberedTransport, NumbersWithoutGaps) {
  constexpr int kNew[kOldRanks] = {-1, 0, -1, 1, 2, 3};
  on_old_ranks([&](Transport& transport) {
    if (two_lost().has(transport.rank())) {
      return;
    }
    const RenumberedTransport survivors(std::shared_ptr<Transport>(&transport, [](Transport*) {}),
                                        two_lost());
    EXPECT_EQ(survivors.rank(), kNew[transport.rank()]);
    EXPECT_EQ(survivors.ranks(), RankMap({1, 2, 1}));
    EXPECT_EQ(survivors.rails(), 2);
    EXPECT_EQ(survivors.largest_message(), transport.largest_message());
    for (int old = 0; old < kOldRanks; ++old) {
      EXPECT_EQ(survivors.number_of(old), kNew[old]);
    }
  });
}

TEST(RenumberedTransport, MapsTheWindowsOfItsHost) {
  on_survivors([](RenumberedTransport& survivors) {
    for (int peer = 0; peer < kNewRanks; ++peer) {
      const bool near = survivors.ranks().same_host(peer, survivors.rank());
      EXPECT_EQ(static_cast<bool>(survivors.mapped(peer)), near);
    }
    EXPECT_EQ(survivors.mapped(survivors.rank()).data, survivors.window().base.data);
  });
}

// Everybody tells everybody its new number: as a message, and in bytes that a signal follows.
TEST(RenumberedTransport, CarriesMessagesWritesAndSignals) {
  on_survivors([](RenumberedTransport& survivors) {
    const int self = survivors.rank();
    auto* own = survivors.window().base.data;
    std::memset(own, self + 1, 64);
    for (int peer = 0; peer < kNewRanks; ++peer) {
      const std::byte text{static_cast<unsigned char>(self)};
      survivors.post(peer, std::span(&text, 1));
      if (survivors.mapped(peer)) {
        std::memset(survivors.mapped(peer).data + 1024 * (self + 1), self + 1, 64);
        survivors.signal(peer, kInsideHost, 7);
      } else {
        survivors.write(RemoteWrite{peer, 1, ConstAddress(survivors.window().base), 64,
                                    1024 * static_cast<uint64_t>(self + 1)});
        survivors.signal(peer, 1, 7);
      }
    }
    int messages = 0;
    for (int seen = 0; seen < 2 * kNewRanks; ++seen) {
      const Event event = event_of(survivors);
      ASSERT_NE(event.kind, Event::Kind::kNothing);
      if (event.kind == Event::Kind::kMessage) {
        ASSERT_EQ(event.message.size(), 1u);
        EXPECT_EQ(std::to_integer<int>(event.message[0]), event.peer);
        ++messages;
      } else {
        EXPECT_EQ(event.immediate, 7u);
        EXPECT_EQ(std::to_integer<int>(own[1024 * (event.peer + 1) + 63]), event.peer + 1);
      }
    }
    EXPECT_EQ(messages, kNewRanks);
    for (const Instant until = survivors.now() + 1s; survivors.now() < until;) {
      survivors.wait(until);  // who ends takes with it what has not arrived yet
    }
    EXPECT_TRUE(survivors.drained());
  });
}

TEST(RenumberedTransport, WhatLostRanksSendIsThrownAway) {
  on_old_ranks([](Transport& transport) {
    const std::byte text{static_cast<unsigned char>(transport.rank())};
    if (two_lost().has(transport.rank())) {
      for (int peer = 0; peer < kOldRanks; ++peer) {
        transport.post(peer, std::span(&text, 1));
      }
      return;
    }
    RenumberedTransport survivors(std::shared_ptr<Transport>(&transport, [](Transport*) {}),
                                  two_lost());
    survivors.wait(survivors.now() + 10ms);
    survivors.post((survivors.rank() + 1) % kNewRanks, std::span(&text, 1));
    const Event event = event_of(survivors);
    EXPECT_EQ(event.peer, (survivors.rank() + kNewRanks - 1) % kNewRanks);
    EXPECT_EQ(event_of(survivors).kind, Event::Kind::kNothing);
  });
}

TEST(RenumberedTransport, KnowsTheHealthOfSurvivors) {
  SimulationOptions options;
  options.ranks = RankMap({1, 1, 1});
  const SimulatedFault fault{SimulatedFault::Kind::kKill, 2, 10ms};
  run_simulated(options, {fault}, [](Transport& transport) {
    RankSet lost(3);
    lost.add(0);
    if (transport.rank() != 1) {
      transport.wait(transport.now() + 30ms);
      return;
    }
    RenumberedTransport survivors(std::shared_ptr<Transport>(&transport, [](Transport*) {}), lost);
    EXPECT_FALSE(survivors.health(1).gone);
    for (const Instant until = survivors.now() + 50ms; survivors.now() < until;) {
      survivors.wait(until);
    }
    EXPECT_TRUE(survivors.health(1).gone);
    EXPECT_FALSE(survivors.health(0).gone);
  });
}

}  // namespace
}  // namespace mixnet::ep
