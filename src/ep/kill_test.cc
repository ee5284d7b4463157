#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "core/random.h"
#include "ep/conformance.h"
#include "ep/process_test_support.h"

// Dispatch and combine of real processes, of which one after the other is killed or stopped at a
// random moment. MIXNET_SEED=N runs one series of strikes.
namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLongestSilence = 400ms;
constexpr Duration kDeadline = 2 * kLongestSilence;
constexpr int kMostRanks = 4;
// After the last loss: time for the last one that was stopped to do harm.
constexpr int kLastRounds = 20;

// What ranks write down for the test; in memory that all share.
struct Board {
  struct Notice {  // of one more loss
    std::atomic<int64_t> at;
    std::atomic<uint64_t> lost;
  };
  std::array<std::array<Notice, kMostRanks>, kMostRanks> notices;  // [rank][loss]
  std::array<std::atomic<int>, kMostRanks> rounds;
};

class SharedBoard {
 public:
  SharedBoard()
      : memory_(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {
    CHECK(memory_ != MAP_FAILED, "there is memory for a board");
  }
  ~SharedBoard() { munmap(memory_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  SharedBoard(SharedBoard&&) = delete;
  SharedBoard& operator=(SharedBoard&&) = delete;

  Board* operator->() const { return static_cast<Board*>(memory_); }

 private:
  void* memory_;  // zeros: a Board of nothing
};

conformance::Load small_load(uint64_t seed) {
  conformance::Load load;
  load.tokens = 6;
  load.mode = kTransports[seed % 4];
  load.seed = seed;
  return load;
}

// Rounds until so many are lost, and some more; what was wrong.
std::string live_on(Transport& transport, const SharedBoard& board, int losses) {
  HostCopyEngine copies;
  ExchangeState state(transport, copies, Patience{kLongestSilence, 20s});
  const std::size_t self = at(transport.rank());
  int noticed = 0;
  int rounds_left = kLastRounds;
  for (uint64_t seed = 1; rounds_left > 0; ++seed) {
    std::string wrong = conformance::round_trip(state, small_load(seed));
    if (!wrong.empty()) {
      return wrong;
    }
    board->rounds[self] = static_cast<int>(seed);
    for (const int lost = state.endpoint.lost.size(); noticed < lost; ++noticed) {
      Board::Notice& notice = board->notices[self][at(noticed)];
      notice.lost = state.endpoint.lost.words()[0];
      notice.at = monotonic_now().time_since_epoch().count();
    }
    rounds_left -= noticed == losses ? 1 : 0;
  }
  return {};
}

template <typename Condition>
bool comes_true(const Condition& condition) {
  const Instant until = monotonic_now() + 20s;
  while (!condition()) {
    if (monotonic_now() > until) {
      return false;
    }
    std::this_thread::sleep_for(200us);
  }
  return true;
}

// Strikes ranks of one communicator until one is left.
class Strikes {
 public:
  Strikes(const std::vector<int>& host_sizes, uint64_t seed)
      : random_(seed, "strikes"),
        ranks_(host_sizes),
        struck_(ranks_.ranks()),
        processes_(ranks_, 1, [&](Transport& transport) {
          return live_on(transport, board_, ranks_.ranks() - 1);
        }) {}

  void run() {
    for (int rank = 0; rank < ranks_.ranks(); ++rank) {
      ASSERT_TRUE(comes_true([&] { return board_->rounds[at(rank)] > 0; })) << "rank " << rank;
    }
    for (int loss = 0; loss + 1 < ranks_.ranks(); ++loss) {
      strike(loss);
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
    for (int rank = 0; rank < ranks_.ranks(); ++rank) {
      expect_end(rank, processes_.result(rank));
    }
  }

  Duration slowest() const { return slowest_; }

 private:
  void strike(int loss) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(20'000)));
    int victim = 0;
    do {
      victim = static_cast<int>(random_.below(static_cast<uint64_t>(ranks_.ranks())));
    } while (struck_.has(victim));
    const bool stops = random_.below(2) == 0;
    SCOPED_TRACE(order_);
    order_ += (stops ? "\nstopped rank " : "\nkilled rank ") + std::to_string(victim);
    const Instant blow = monotonic_now();
    processes_.children().send(victim, stops ? SIGSTOP : SIGKILL);
    struck_.add(victim);
    if (stops) {
      stopped_.push_back(victim);
    }
    for (int rank = 0; rank < ranks_.ranks(); ++rank) {
      if (struck_.has(rank)) {
        continue;
      }
      const Board::Notice& notice = board_->notices[at(rank)][at(loss)];
      ASSERT_TRUE(comes_true([&] { return notice.at != 0; })) << "rank " << rank;
      EXPECT_EQ(notice.lost, struck_.words()[0]) << "rank " << rank;
      const Duration took = Instant(Duration(notice.at)) - blow;
      EXPECT_LE(took, kDeadline) << "rank " << rank;
      slowest_ = std::max(slowest_, took);
    }
    if (stops) {
      processes_.children().send(victim, SIGCONT);
    }
  }

  void expect_end(int rank, const std::string& text) const {
    if (!struck_.has(rank)) {
      EXPECT_EQ(text, "") << "rank " << rank;
    } else if (std::count(stopped_.begin(), stopped_.end(), rank) == 0) {
      EXPECT_EQ(text, "ended with -9 ") << "rank " << rank;
    } else {
      EXPECT_EQ(text.find("rank " + std::to_string(rank) + " (this one) is lost to the others"), 0u)
          << "rank " << rank << ": " << text << order_;
    }
  }

  RandomStream random_;
  RankMap ranks_;
  SharedBoard board_;
  RankSet struck_;
  std::string order_;
  std::vector<int> stopped_;
  Duration slowest_{};
  ProcessRanks processes_;
};

// Seeds from `first` on: each strikes all ranks but one.
void expect_strikes_are_survived(const std::vector<int>& host_sizes, uint64_t first,
                                 uint64_t count) {
  const char* only = std::getenv("MIXNET_SEED");
  const uint64_t one = only != nullptr ? std::strtoull(only, nullptr, 10) : 0;
  Duration slowest{};
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    if (one != 0 && seed != one) {
      continue;
    }
    SCOPED_TRACE("MIXNET_SEED=" + std::to_string(seed));
    Strikes strikes(host_sizes, seed);
    strikes.run();
    slowest = std::max(slowest, strikes.slowest());
  }
  testing::Test::RecordProperty(
      "slowest_ms",
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(slowest).count()));
}

// 25 x 3 + 25 x 3 + 25 x 2 strikes.
TEST(Kills, OneHost) { expect_strikes_are_survived({4}, 1, 25); }
TEST(Kills, TwoHosts) { expect_strikes_are_survived({2, 2}, 101, 25); }
TEST(Kills, ThreeHosts) { expect_strikes_are_survived({1, 1, 1}, 201, 25); }

void compute(Duration time) {
  for (const Instant until = monotonic_now() + time; monotonic_now() < until;) {
  }
}

TEST(Kills, ARankThatComputesThreeTimesAsLongIsNotLost) {
  for (const std::vector<int>& host_sizes : std::vector<std::vector<int>>{{3}, {2, 1}}) {
    const RankMap ranks(host_sizes);
    ProcessRanks processes(ranks, 1, [](Transport& transport) {
      HostCopyEngine copies;
      ExchangeState state(transport, copies, Patience{kLongestSilence, 20s});
      std::string wrong;
      for (uint64_t round = 1; round <= 2; ++round) {
        compute(transport.rank() == 2 ? 1500ms : 500ms);
        wrong += conformance::round_trip(state, small_load(round));
      }
      return wrong + (state.endpoint.lost.empty() ? "" : "lost " + state.endpoint.lost.text());
    });
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
      EXPECT_EQ(processes.result(rank), "") << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace mixnet::ep
