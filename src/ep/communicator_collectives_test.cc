#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ep/communicator.h"

// Every call of a Communicator reaches its collective, with its arguments in their places, and what
// is started ends in order. What collectives promise is tested beside them.
namespace mixnet::ep {
namespace {

constexpr int kRanks = 4;

// Ranks as threads of this process, two hosts of two; what crosses goes over loopback.
void run_ranks(const std::function<void(Communicator&)>& body, const RankMap& map = RankMap({2, 2}),
               const std::vector<std::string>& nics = {"127.0.0.1"}) {
  MemoryStore store;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      CommunicatorOptions options;
      options.nics = nics;
      options.window_bytes = uint64_t{16} << 20;
      const auto communicator = Communicator::open(map, rank, store, options);
      ASSERT_TRUE(communicator) << communicator.error().text();
      body(**communicator);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

template <typename T>
Address of(std::vector<T>& values) {
  return host_address(values.data());
}

void expect_ok(const Status& status) {
  EXPECT_TRUE(status) << (status ? "" : status.error().text());
}

using Floats = std::vector<float>;

TEST(CommunicatorCalls, HasTheCollectives) {
  run_ranks([](Communicator& ranks) {
    const auto own = static_cast<float>(ranks.rank());
    expect_ok(ranks.barrier());

    Floats shared{own, own + 10};
    expect_ok(ranks.broadcast(of(shared), 8, 2));
    EXPECT_EQ(shared, (Floats{2, 12}));

    Floats in{own};
    Floats all(kRanks);
    expect_ok(ranks.all_gather(of(in), 4, of(all)));
    EXPECT_EQ(all, (Floats{0, 1, 2, 3}));

    Floats parts(static_cast<std::size_t>(ranks.rank()), own);
    Floats joined(6);
    const auto sizes = ranks.all_gather_v({of(parts), parts.size() * 4}, of(joined), 24);
    ASSERT_TRUE(sizes) << sizes.error().text();
    EXPECT_EQ(*sizes, (std::vector<uint64_t>{0, 4, 8, 12}));
    EXPECT_EQ(joined, (Floats{1, 2, 2, 3, 3, 3}));

    Floats terms{own, own + 1, own + 2, own + 3};
    Floats sum(1);
    expect_ok(ranks.reduce_scatter(of(terms), 1, DataType::kFp32, of(sum)));
    EXPECT_EQ(sum[0], 6 + 4 * own);

    expect_ok(ranks.all_reduce(of(terms), 4, DataType::kFp32));
    EXPECT_EQ(terms, (Floats{6, 10, 14, 18}));
  });
}

TEST(CommunicatorCalls, StartsCollectivesThatEndInOrder) {
  run_ranks([](Communicator& ranks) {
    const auto own = static_cast<float>(ranks.rank());
    Floats terms{own, own, own, own};
    Floats sum(1);
    Floats all(kRanks);
    // Each takes what the one before it made.
    auto reduced = ranks.start_all_reduce(of(terms), 4, DataType::kFp32);
    auto scattered = ranks.start_reduce_scatter(of(terms), 1, DataType::kFp32, of(sum));
    auto gathered = ranks.start_all_gather(of(sum), 4, of(all));
    expect_ok(ranks.barrier());
    for (auto* started : {&reduced, &scattered, &gathered}) {
      EXPECT_EQ(started->wait_for(std::chrono::seconds(0)), std::future_status::ready);
      expect_ok(started->get());
    }
    EXPECT_EQ(terms, (Floats{6, 6, 6, 6}));
    EXPECT_EQ(all, (Floats{24, 24, 24, 24}));
  });
}

TEST(CommunicatorCalls, MovesBytesBetweenTwoRanks) {
  run_ranks([](Communicator& ranks) {
    const int next = (ranks.rank() + 1) % kRanks;
    const int before = (ranks.rank() + kRanks - 1) % kRanks;
    Floats out(1, static_cast<float>(ranks.rank()));
    Floats in(1);
    expect_ok(ranks.send_receive({next, of(out), 4}, {before, of(in), 4}));
    EXPECT_EQ(in[0], static_cast<float>(before));

    if (ranks.rank() == 0) {
      expect_ok(ranks.send({3, of(out), 4}));
    } else if (ranks.rank() == 3) {
      expect_ok(ranks.receive({0, of(in), 4}));
      EXPECT_EQ(in[0], 0);
    }
    expect_ok(ranks.barrier());
  });
}

TEST(CommunicatorCalls, GivesTheSameErrorToAllAndGoesOn) {
  run_ranks([](Communicator& ranks) {
    Floats data{1, 1};
    const Status failed = ranks.all_reduce(of(data), ranks.rank() == 1 ? 1 : 2, DataType::kFp32);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message,
              "all-reduce: elements differs: 1 on rank 1; 2 on ranks 0, 2-3");
    expect_ok(ranks.all_reduce(of(data), 2, DataType::kFp32));
    EXPECT_EQ(data, (Floats{4, 4}));
  });
}

// Messages of the old communicator are still on their way when the new one begins.
TEST(CommunicatorCalls, ShrinksToTheSurvivors) {
  run_ranks([](Communicator& ranks) {
    if (ranks.rank() == 0) {
      ranks.exclude(1);
    }
    for (int call = 0; call < 2; ++call) {
      const Status together = ranks.barrier();
      if (ranks.rank() == 1) {
        EXPECT_FALSE(together);
        return;
      }
      expect_ok(together);
    }
    EXPECT_EQ(ranks.lost().text(), "1");
    const auto left = ranks.shrink();
    EXPECT_EQ(left->rank(), std::max(0, ranks.rank() - 1));
    for (int call = 0; call < 10; ++call) {
      Floats one{1};
      expect_ok(left->all_reduce(of(one), 1, DataType::kFp32));
      EXPECT_EQ(one[0], 3);
    }
    EXPECT_TRUE(left->lost().empty());
  });
}

TEST(CommunicatorCalls, RefusesModeZeroWithoutNics) {
  run_ranks(
      [](Communicator& ranks) {
        Floats x{1};
        const std::vector<int64_t> choices{0};
        DispatchInput input{of(x), 1, 1, DataType::kFp32, TopK{choices, 1}, {}};
        DispatchOptions options;
        options.experts = kRanks;
        options.weighted = false;
        options.mode = TransportMode::kDirect;
        const auto refused = ranks.dispatch(input, options);
        ASSERT_FALSE(refused);
        EXPECT_NE(refused.error().message.find("rank 3: mode 0 sends through NICs"),
                  std::string::npos);
      },
      RankMap({kRanks}), {});
}

}  // namespace
}  // namespace mixnet::ep
