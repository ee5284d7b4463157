#include "ep/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/random.h"

namespace mixnet::ep {
namespace {

struct Router {
  std::vector<int64_t> experts;
  int top_k = 1;

  TopK choices() const { return TopK{experts, top_k}; }
};

// Repeats and -1 included.
Router random_router(RandomStream& random, int experts, int top_k, int64_t tokens) {
  Router router{{}, top_k};
  for (int64_t slot = 0; slot < tokens * top_k; ++slot) {
    router.experts.push_back(
        static_cast<int64_t>(random.below(static_cast<uint64_t>(experts) + 1)) - 1);
  }
  return router;
}

// The run of `expert` by walking over the runs of all ranks.
int slow_owner(int64_t expert, int experts, int ranks) {
  int64_t first = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    first += experts / ranks + (rank < experts % ranks ? 1 : 0);
    if (expert < first) {
      return rank;
    }
  }
  return -1;
}

TEST(ExpertMap, EveryExpertHasOneOwner) {
  for (int experts = 1; experts <= 70; ++experts) {
    for (int ranks = 1; ranks <= 30; ++ranks) {
      const ExpertMap map(experts, ranks);
      int all = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(map.first_of(rank), all);
        all += map.experts_of(rank);
        ASSERT_LE(map.experts_of(0) - map.experts_of(rank), 1);
      }
      ASSERT_EQ(all, experts);
      for (int expert = 0; expert < experts; ++expert) {
        ASSERT_EQ(map.owner_of(expert), slow_owner(expert, experts, ranks));
      }
    }
  }
}

void expect_layout_of_sets(const Router& router, int experts, const RankMap& ranks) {
  const ExpertMap map(experts, ranks.ranks());
  const TopK choices = router.choices();
  const DispatchLayout layout = dispatch_layout(choices, map, ranks);
  std::vector<int32_t> per_rank(at(ranks.ranks()));
  std::vector<int32_t> per_host(at(ranks.hosts()));
  std::vector<int32_t> per_expert(at(experts));
  for (int64_t token = 0; token < choices.tokens(); ++token) {
    std::set<int> to_ranks;
    std::set<int> to_hosts;
    for (const int64_t expert : choices.of(token)) {
      if (expert >= 0) {
        const int owner = slow_owner(expert, experts, ranks.ranks());
        to_ranks.insert(owner);
        to_hosts.insert(ranks.host_of(owner));
        ++per_expert[static_cast<std::size_t>(expert)];
      }
    }
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
      ASSERT_EQ(layout.token_in_rank(static_cast<std::size_t>(token), at(rank)),
                to_ranks.count(rank));
      per_rank[at(rank)] += static_cast<int32_t>(to_ranks.count(rank));
    }
    for (const int host : to_hosts) {
      ++per_host[at(host)];
    }
  }
  EXPECT_EQ(layout.tokens_per_rank, per_rank);
  EXPECT_EQ(layout.tokens_per_host, per_host);
  EXPECT_EQ(layout.tokens_per_expert, per_expert);
}

TEST(Layout, EqualsANaiveLoop) {
  RandomStream random(1, "layout");
  for (int run = 0; run < 300; ++run) {
    const RankMap ranks =
        RankMap::even(static_cast<int>(3 + random.below(9)), static_cast<int>(1 + random.below(3)));
    const int experts = static_cast<int>(1 + random.below(40));
    const int top_k = static_cast<int>(1 + random.below(9));
    const Router router =
        random_router(random, experts, top_k, static_cast<int64_t>(random.below(30)));
    expect_layout_of_sets(router, experts, ranks);
  }
}

TEST(Layout, ListsAscendAndCountTheSlots) {
  RandomStream random(2, "layout");
  for (int run = 0; run < 100; ++run) {
    const RankMap ranks({2, 1, 3});
    const int experts = static_cast<int>(1 + random.below(20));
    const Router router = random_router(random, experts, 5, 12);
    const ExpertMap map(experts, 6);
    const SendLists lists = send_lists(router.choices(), map, ranks);
    for (int rank = 0; rank < 6; ++rank) {
      int32_t before = -1;
      for (const TokenCopy& copy : lists.to_rank[at(rank)]) {
        ASSERT_GT(copy.token, before);
        before = copy.token;
        int32_t slots = 0;
        for (const int64_t expert : router.choices().of(copy.token)) {
          slots += expert >= 0 && map.owner_of(expert) == rank ? 1 : 0;
        }
        ASSERT_EQ(copy.slots, slots);
      }
    }
    std::size_t slots_by_host = 0;
    for (const auto& copies : lists.to_host) {
      for (const TokenCopy& copy : copies) {
        slots_by_host += at(copy.slots);
      }
    }
    std::size_t picked = 0;
    for (const int64_t expert : router.experts) {
      picked += expert >= 0 ? 1 : 0;
    }
    ASSERT_EQ(slots_by_host, picked);
  }
}

TEST(Layout, NamesTheChoiceThatIsNoExpert) {
  const std::vector<int64_t> experts = {0, 3, -1, 4};
  EXPECT_EQ(bad_choice(TopK{experts, 2}, 5), std::nullopt);
  EXPECT_EQ(bad_choice(TopK{experts, 2}, 4),
            "topk_experts[1][1] is 4: experts are 0 to 3, or -1 for none");
  const std::vector<int64_t> low = {0, -2};
  EXPECT_EQ(bad_choice(TopK{low, 1}, 4),
            "topk_experts[1][0] is -2: experts are 0 to 3, or -1 for none");
  EXPECT_EQ(bad_choice(TopK{{}, 8}, 1), std::nullopt);
}

}  // namespace
}  // namespace mixnet::ep
