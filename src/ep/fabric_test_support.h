#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/index.h"
#include "ep/fabric_rails.h"

namespace mixnet::ep {

inline constexpr std::chrono::seconds kTestDeadline{20};

// One rank of a test: its window and its NICs, all of which are loopback addresses.
struct TestRank {
  std::vector<std::byte> memory;
  std::unique_ptr<FabricRails> rails;

  TestRank() = default;
  TestRank(int rank, int ranks, int nics, uint64_t window_bytes, bool register_sources = false)
      : memory(window_bytes) {
    FabricRails::Options options;
    options.ranks = RankMap(std::vector<int>(at(ranks), 1));
    options.rank = rank;
    for (int nic = 0; nic < nics; ++nic) {
      options.nics.push_back("127.0.0." + std::to_string(nic + 1));
    }
    options.window = Window{host_address(memory.data()), window_bytes};
    options.register_sources = register_sources;
    auto opened = FabricRails::open(options);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().text());
    if (opened.ok()) {
      rails = std::move(*opened);
    }
  }

  FabricRails* operator->() { return rails.get(); }
};

inline std::vector<int> others(int rank, int ranks) {
  std::vector<int> peers;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer != rank) {
      peers.push_back(peer);
    }
  }
  return peers;
}

// Runs `body` for every rank on a thread of its own.
inline void on_all(int ranks, const std::function<void(int)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(body, rank);
  }
}

struct TestFleet {
  std::vector<TestRank> ranks;

  TestFleet(int count, int nics, uint64_t window_bytes, bool register_sources = false) {
    std::vector<std::vector<std::byte>> contacts;
    for (int rank = 0; rank < count; ++rank) {
      ranks.push_back(TestRank(rank, count, nics, window_bytes, register_sources));
      contacts.push_back(ranks.back()->contact());
    }
    on_all(count, [&](int rank) {
      const Status status = ranks[at(rank)]->connect(contacts, others(rank, count), kTestDeadline);
      EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().text());
    });
  }

  TestRank& operator[](int rank) { return ranks[at(rank)]; }
};

// The next event, or nothing when the deadline has passed.
inline Event next_event(FabricRails& rails) {
  const auto end = std::chrono::steady_clock::now() + kTestDeadline;
  while (std::chrono::steady_clock::now() < end) {
    if (Event event = rails.poll(); event.kind != Event::Kind::kNothing) {
      return event;
    }
    rails.wait(std::chrono::milliseconds(100));
  }
  ADD_FAILURE() << "no event before the deadline";
  return Event{};
}

// Polls until `done`; false when the deadline has passed.
inline bool poll_until(FabricRails& rails, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kTestDeadline;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    static_cast<void>(rails.poll());
    rails.wait(std::chrono::milliseconds(10));
  }
  return true;
}

inline bool flush(FabricRails& rails) {
  return poll_until(rails, [&] { return rails.flushed(); });
}

}  // namespace mixnet::ep
