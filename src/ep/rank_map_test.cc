#include "ep/rank_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixnet::ep {
namespace {

TEST(RankMap, SpreadsRanksEvenly) {
  const RankMap map = RankMap::even(7, 3);
  EXPECT_EQ(map, RankMap({3, 2, 2}));
  EXPECT_EQ(map.hosts(), 3);
  EXPECT_EQ(map.host_of(3), 1);
  EXPECT_EQ(map.index_in_host(4), 1);
  EXPECT_TRUE(map.same_host(5, 6));
  EXPECT_FALSE(map.same_host(4, 5));
}

TEST(RankMap, RelaysOfSmallerHostsAreTheirLastRank) {
  const RankMap map({3, 2, 2});
  EXPECT_EQ(map.relay_of(0, 1), 3);
  EXPECT_EQ(map.relay_of(2, 1), 4);
  EXPECT_EQ(map.relay_of(4, 0), 1);
}

TEST(RankMap, IsReadFromTheHostOfEveryRank) {
  const auto map = RankMap::from_hosts({0, 0, 1, 2, 2});
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(*map, RankMap({2, 1, 2}));
}

TEST(RankMap, RefusesHostsThatAreNotContiguous) {
  for (const std::vector<int>& hosts :
       {std::vector<int>{}, {1}, {0, 1, 0}, {0, 2}, {0, -1}, {0, 0, 2}}) {
    EXPECT_FALSE(RankMap::from_hosts(hosts).ok());
  }
}

}  // namespace
}  // namespace mixnet::ep
