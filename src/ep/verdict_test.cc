#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/random.h"
#include "ep/agreement.h"

namespace mixnet::ep {
namespace {

RankSet set_of(int ranks, const std::vector<int>& members) {
  RankSet set(ranks);
  for (const int rank : members) {
    set.add(rank);
  }
  return set;
}

TEST(Verdict, NobodyGoesWithoutAccusations) { EXPECT_TRUE(verdict({}, 5).empty()); }

TEST(Verdict, WhoIsAccusedByMostGoesAlone) {
  EXPECT_EQ(verdict({{0, 2}, {1, 2}, {3, 2}, {2, 0}}, 4), set_of(4, {2}));
}

TEST(Verdict, WhoIsCutOffGoesAlone) {
  for (int cut_off = 0; cut_off < 5; ++cut_off) {
    Accusations accusations;
    for (int other = 0; other < 5; ++other) {
      if (other != cut_off) {
        accusations.emplace(other, cut_off);
        accusations.emplace(cut_off, other);
      }
    }
    EXPECT_EQ(verdict(accusations, 5), set_of(5, {cut_off}));
  }
}

TEST(Verdict, OfEqualsTheOneThatAccusesMostThenTheHighest) {
  EXPECT_EQ(verdict({{0, 1}, {1, 0}}, 3), set_of(3, {1}));
  EXPECT_EQ(verdict({{0, 1}, {1, 0}, {0, 2}, {2, 1}}, 3), set_of(3, {1, 2}));
  EXPECT_EQ(verdict({{0, 2}, {0, 1}, {1, 0}}, 4), set_of(4, {0}));
}

Accusations random_accusations(RandomStream& random, int ranks, uint64_t most) {
  Accusations accusations;
  const uint64_t count = random.below(most + 1);
  for (uint64_t i = 0; i < count; ++i) {
    const int accuser = static_cast<int>(random.below(static_cast<uint64_t>(ranks)));
    const int accused = static_cast<int>(random.below(static_cast<uint64_t>(ranks)));
    if (accuser != accused) {
      accusations.emplace(accuser, accused);
    }
  }
  return accusations;
}

// As the header says it, by counting anew; `tie`: somewhere the number of a rank decided.
RankSet slow_verdict(const Accusations& accusations, int ranks, bool& tie) {
  RankSet gone(ranks);
  while (true) {
    std::vector<std::pair<int, int>> standing(at(ranks));
    for (const auto& [accuser, accused] : accusations) {
      if (!gone.has(accuser) && !gone.has(accused)) {
        ++standing[at(accused)].first;
        ++standing[at(accuser)].second;
      }
    }
    const auto worst = *std::max_element(standing.begin(), standing.end());
    if (worst.first == 0) {
      return gone;
    }
    tie = tie || std::count(standing.begin(), standing.end(), worst) > 1;
    for (int rank = ranks - 1; rank >= 0; --rank) {
      if (standing[at(rank)] == worst) {
        gone.add(rank);
        break;
      }
    }
  }
}

TEST(Verdict, EqualsTheRuleCountedAnewAndKeepsUnderOtherNumbers) {
  RandomStream random(3, "verdict");
  int without_tie = 0;
  for (int run = 0; run < 3000; ++run) {
    const int ranks = static_cast<int>(2 + random.below(6));
    const Accusations accusations = random_accusations(random, ranks, 9);
    const RankSet condemned = verdict(accusations, ranks);
    bool tie = false;
    ASSERT_EQ(condemned, slow_verdict(accusations, ranks, tie));
    for (const auto& [accuser, accused] : accusations) {
      ASSERT_TRUE(condemned.has(accuser) || condemned.has(accused));
    }
    for (const int rank : condemned.ranks()) {
      ASSERT_TRUE(std::any_of(accusations.begin(), accusations.end(),
                              [&](const auto& pair) { return pair.second == rank; }));
    }
    if (tie) {
      continue;
    }
    ++without_tie;
    std::vector<int> number(at(ranks));
    std::iota(number.begin(), number.end(), 0);
    random.shuffle(std::span(number));
    Accusations renamed;
    for (const auto& [accuser, accused] : accusations) {
      renamed.emplace(number[at(accuser)], number[at(accused)]);
    }
    RankSet expected(ranks);
    for (const int rank : condemned.ranks()) {
      expected.add(number[at(rank)]);
    }
    ASSERT_EQ(verdict(renamed, ranks), expected);
  }
  EXPECT_GT(without_tie, 500);
}

}  // namespace
}  // namespace mixnet::ep
