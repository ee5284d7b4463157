#include "ep/agreement.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/random.h"
#include "ep/agreement_test_support.h"

namespace mixnet::ep {
namespace {

// Everything that is under way arrives, and everybody notices who ended and who is waited for in
// vain, until nothing changes.
void come_to_rest(Voters& voters, RandomStream& random) {
  for (int turn = 0; turn < 100; ++turn) {
    std::vector<std::pair<int, int>> busy;
    for (int from = 0; from < voters.ranks(); ++from) {
      for (int to = 0; to < voters.ranks(); ++to) {
        if (voters.under_way(from, to)) {
          busy.emplace_back(from, to);
        }
      }
    }
    while (!busy.empty()) {
      const std::size_t one = random.below(busy.size());
      voters.deliver(busy[one].first, busy[one].second);
      if (!voters.under_way(busy[one].first, busy[one].second)) {
        busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(one));
      }
    }
    for (int rank = 0; rank < voters.ranks(); ++rank) {
      voters.complete(rank);
      for (int other = 0; other < voters.ranks(); ++other) {
        if (other != rank && !voters.alive(other)) {
          voters.unheard(rank, other, true);
        } else if (other != rank && voters[rank].condemned().has(other)) {
          voters.unheard(rank, other, false);
        }
        if (voters.alive(rank) && voters[rank].awaits(other) &&
            (!voters.alive(other) || (turn > 20 && !voters.under_way(other, rank)))) {
          voters.accuse(rank, other);
        }
      }
    }
  }
}

std::vector<std::size_t> random_rests(RandomStream& random, int ranks) {
  std::vector<std::size_t> left;
  for (int rank = 0; rank < ranks; ++rank) {
    left.push_back(random.below(4));
  }
  return left;
}

// A random step: something arrives, or a rank completes, ends, or loses patience with another.
void random_step(Voters& voters, RandomStream& random, uint64_t& deaths, bool false_alarms) {
  const auto ranks = static_cast<uint64_t>(voters.ranks());
  const int rank = static_cast<int>(random.below(ranks));
  const int other = static_cast<int>(random.below(ranks));
  const uint64_t kind = random.below(40);
  if (rank == other) {
    return;
  }
  if (kind == 0 && deaths > 0 && voters.alive(rank)) {
    voters.kill(rank, random_rests(random, voters.ranks()));
    --deaths;
  } else if (kind == 1 && false_alarms) {
    voters.accuse(rank, other);
  } else if (kind == 2 && false_alarms) {
    voters.unheard(rank, other, false);
  } else if (kind < 8) {
    voters.complete(rank);
  } else if (kind < 18 && !voters.alive(other) && !voters.under_way(other, rank)) {
    voters.unheard(rank, other, true);
    if (voters[rank].awaits(other)) {
      voters.accuse(rank, other);
    }
  } else if (voters.under_way(rank, other)) {
    voters.deliver(rank, other);
  }
}

TEST(Agreement, NobodyDecidesDifferentlyInRandomOrders) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    RandomStream random(seed, "voters");
    Voters voters(static_cast<int>(2 + random.below(5)));
    const bool false_alarms = random.below(2) == 0;
    const uint64_t most = random.below(static_cast<uint64_t>(voters.ranks() + 1) / 2);
    uint64_t deaths = most;
    const uint64_t steps = random.below(200);
    for (uint64_t step = 0; step < steps; ++step) {
      random_step(voters, random, deaths, false_alarms);
    }
    ASSERT_EQ(voters.contradiction(), "") << "seed " << seed;
    come_to_rest(voters, random);
    ASSERT_EQ(voters.contradiction(), "") << "seed " << seed << ", at rest";
    for (int rank = 0; rank < voters.ranks(); ++rank) {
      if (!voters.alive(rank)) {
        continue;
      }
      ASSERT_TRUE(voters[rank].decision() || voters[rank].stuck())
          << "seed " << seed << ": rank " << rank << " waits for ever";
      if (!false_alarms) {
        ASSERT_TRUE(voters.survives(rank)) << "seed " << seed << ", rank " << rank;
        for (const int lost : voters[rank].decision()->ranks()) {
          ASSERT_FALSE(voters.alive(lost)) << "seed " << seed << ", rank " << rank;
        }
      }
    }
  }
}

// It stood still between its decision and its vote.
TEST(Agreement, WhoDecidedAndWasLostByTheOthersLearnsIt) {
  Agreement late(RankSet(3), 3, 0);
  late.hear_vote(1, {});
  late.hear_vote(2, {});
  late.complete();
  ASSERT_TRUE(late.decision() && late.decision()->empty());
  EXPECT_EQ(late.take_vote(), std::nullopt);
  RankSet lost(3);
  lost.add(2);
  late.hear_decision(1, lost, {{1, 2}});
  EXPECT_TRUE(late.decision()->empty());
  lost.add(0);
  late.hear_decision(1, lost, {{1, 2}, {1, 0}});
  EXPECT_EQ(late.decision(), lost);
}

}  // namespace
}  // namespace mixnet::ep
