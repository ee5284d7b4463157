#include "ep/exchange_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/random.h"

namespace mixnet::ep {
namespace {

// The largest of virtual sizes that made others overflow.
constexpr int64_t kManyRows = 160'000;
constexpr uint64_t kWideRow = 7168 * 2;

TEST(RowsLayout, PartsFollowOneAnotherOnCacheLines) {
  RandomStream random(1, "rows");
  for (int run = 0; run < 500; ++run) {
    RowsLayout layout;
    layout.rows = static_cast<int64_t>(random.below(50));
    layout.row_bytes = 1 + random.below(300);
    layout.top_k = static_cast<int>(1 + random.below(33));
    layout.chosen = random.below(2) == 0;
    layout.weighted = random.below(2) == 0;
    const auto rows = static_cast<uint64_t>(layout.rows);
    const uint64_t slots = rows * at(layout.top_k);
    ASSERT_GE(layout.experts_at(), rows * layout.row_bytes);
    ASSERT_GE(layout.weights_at(), layout.experts_at() + (layout.chosen ? slots * 8 : 0));
    ASSERT_GE(layout.bytes(), layout.weights_at() + (layout.weighted ? slots * 4 : 0));
    ASSERT_LT(layout.bytes(), rows * layout.row_bytes + slots * 12 + 3 * 64);
    ASSERT_EQ(layout.experts_at() % 64 + layout.weights_at() % 64 + layout.bytes() % 64, 0u);
  }
}

TEST(RowsLayout, SizesBeyondFourGigabytes) {
  const RowsLayout layout{4 * kManyRows, kWideRow, 8, true, true};
  EXPECT_EQ(layout.experts_at(), uint64_t{640'000} * 14'336);
  EXPECT_EQ(layout.weights_at(), layout.experts_at() + uint64_t{640'000} * 64);
  EXPECT_EQ(layout.bytes(), layout.weights_at() + uint64_t{640'000} * 32);
  const RowsLayout one{kManyRows, kWideRow, 8, true, true};
  EXPECT_GT(one.experts_at(), uint64_t{1} << 31);
}

TEST(ExchangePlan, OffsetsBeyondFourGigabytes) {
  const int ranks = 16;
  Matrix<int64_t> to_rank(at(ranks), at(ranks), kManyRows);
  EXPECT_EQ(rows_before(to_rank, 15, 3), 15 * kManyRows);
  EXPECT_EQ(rows_of(to_rank, 3), 16 * kManyRows);
  const RankMap map = RankMap::even(ranks, 4);
  const RowCounts counts{to_rank, Matrix<int64_t>(at(ranks), 4, kManyRows)};
  std::vector<Flow> flows = plan_flows(counts, map, {}, 1, RankSet(ranks));
  EXPECT_EQ(flows.size(), 16u * 3);
  const std::vector<uint64_t> used = place_flows(flows, map, {0, kWideRow, 8, true, true});
  // Every rank is the delegation rank of 3 flows and the end of 3.
  const FlowLayout each{{kManyRows, kWideRow, 8, true, true}, 4};
  for (const uint64_t bytes : used) {
    EXPECT_EQ(bytes, 6 * each.bytes());
  }
}

TEST(ExchangePlan, ChunksCoverTheRows) {
  EXPECT_EQ(chunk_rows(kWideRow), 18);
  EXPECT_EQ(chunk_rows(kChunkBytes + 1), 1);
  EXPECT_EQ(chunk_rows(0), static_cast<int64_t>(kChunkBytes));
  EXPECT_EQ(chunks_of(0, kWideRow), 0);
  EXPECT_EQ(chunks_of(18, kWideRow), 1);
  EXPECT_EQ(chunks_of(19, kWideRow), 2);
  EXPECT_EQ(chunks_of(kManyRows, kWideRow), 8889);
}

TEST(ExchangePlan, PartsAreEvenAndLeaveNothingOut) {
  for (int64_t rows = 0; rows < 40; ++rows) {
    for (int parts = 1; parts < 9; ++parts) {
      int64_t next = 0;
      for (int index = 0; index < parts; ++index) {
        const RowRange part = part_of(rows, index, parts);
        ASSERT_EQ(part.first, next);
        ASSERT_GE(part.rows, rows / parts);
        ASSERT_LE(part.rows, rows / parts + 1);
        next += part.rows;
      }
      ASSERT_EQ(next, rows);
    }
  }
}

// Shares of thirds, uneven ones and one of 0, with and without a hop through a third host.
RouteTable random_routes(RandomStream& random, const RankMap& ranks, int rails) {
  RouteTable routes;
  for (int source = 0; source < ranks.ranks(); ++source) {
    for (int host = 0; host < ranks.hosts(); ++host) {
      if (host == ranks.host_of(source) || random.below(2) == 0) {
        continue;
      }
      const auto any_of = [&](int in) {
        return ranks.first_of(in) +
               static_cast<int>(random.below(static_cast<uint64_t>(ranks.size_of(in))));
      };
      const auto any_rail = [&] {
        return static_cast<int>(random.below(static_cast<uint64_t>(rails)));
      };
      std::vector<Carrier> carriers;
      const std::vector<double> shares = random.below(2) == 0
                                             ? std::vector<double>{1.0 / 3, 0, 2.0 / 3}
                                             : std::vector<double>{0.1, 0.2, 0.7};
      for (const double share : shares) {
        const int gate = any_of(ranks.host_of(source));
        const int via = static_cast<int>(random.below(static_cast<uint64_t>(ranks.hosts())));
        Carrier carrier{{}, share};
        if (via != host && via != ranks.host_of(source)) {
          const int relay = any_of(via);
          carrier.hops = {{gate, any_rail(), relay}, {relay, any_rail(), any_of(host)}};
        } else {
          carrier.hops = {{gate, any_rail(), any_of(host)}};
        }
        carriers.push_back(carrier);
      }
      routes.set(source, host, carriers);
    }
  }
  return routes;
}

void expect_flows_cover(const std::vector<Flow>& flows, const RowCounts& counts,
                        const RankMap& ranks, const RankSet& lost) {
  std::map<std::pair<int, int>, int64_t> next;
  for (const Flow& flow : flows) {
    EXPECT_GT(flow.rows, 0);
    EXPECT_EQ(flow.first, (next[{flow.source, flow.host}]));
    next[{flow.source, flow.host}] += flow.rows;
    EXPECT_TRUE(ranks.same_host(flow.source, flow.node(0)));
    EXPECT_EQ(ranks.host_of(flow.last()), flow.host);
    for (int node = 0; node < flow.nodes(); ++node) {
      EXPECT_FALSE(lost.has(flow.node(node)));
    }
  }
  for (int source = 0; source < ranks.ranks(); ++source) {
    for (int host = 0; host < ranks.hosts(); ++host) {
      const int64_t rows = host == ranks.host_of(source) ? 0 : counts.to_host(at(source), at(host));
      EXPECT_EQ((next[{source, host}]), rows) << source << " to host " << host;
    }
  }
}

// Places at one rank do not overlap, and all lie in its relay block.
void expect_places_apart(const std::vector<Flow>& flows, const std::vector<uint64_t>& used,
                         const RankMap& ranks, const RowsLayout& shape) {
  std::vector<std::map<uint64_t, uint64_t>> taken(used.size());
  for (const Flow& flow : flows) {
    RowsLayout rows = shape;
    rows.rows = flow.rows;
    for (int node = 0; node < flow.nodes(); ++node) {
      const bool fresh =
          taken[at(flow.node(node))]
              .emplace(flow.places[at(node)], FlowLayout{rows, ranks.size_of(flow.host)}.bytes())
              .second;
      EXPECT_TRUE(fresh);
    }
  }
  for (std::size_t rank = 0; rank < used.size(); ++rank) {
    uint64_t end = 0;
    for (const auto& [first, bytes] : taken[rank]) {
      EXPECT_GE(first, end);
      end = first + bytes;
    }
    EXPECT_LE(end, used[rank]);
  }
}

TEST(ExchangePlan, FlowsCoverAllRowsOnceAndKeepApart) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomStream random(seed, "flows");
    const RankMap ranks =
        RankMap::even(static_cast<int>(3 + random.below(8)), static_cast<int>(1 + random.below(3)));
    const int rails = static_cast<int>(1 + random.below(3));
    RankSet lost(ranks.ranks());
    if (random.below(2) == 0) {
      lost.add(static_cast<int>(random.below(static_cast<uint64_t>(ranks.ranks()))));
    }
    RowCounts counts{Matrix<int64_t>(at(ranks.ranks()), at(ranks.ranks())),
                     Matrix<int64_t>(at(ranks.ranks()), at(ranks.hosts()))};
    for (int source = 0; source < ranks.ranks(); ++source) {
      for (int host = 0; host < ranks.hosts() && !lost.has(source); ++host) {
        const bool somebody = ranks.size_of(host) > 1 || !lost.has(ranks.first_of(host));
        counts.to_host(at(source), at(host)) =
            somebody ? static_cast<int64_t>(random.below(12)) : 0;
      }
    }
    const RouteTable routes = random_routes(random, ranks, rails);
    ASSERT_TRUE(routes.check(ranks, rails).ok());
    std::vector<Flow> flows = plan_flows(counts, ranks, routes, rails, lost);
    expect_flows_cover(flows, counts, ranks, lost);
    const RowsLayout shape{0, 1 + random.below(100), 3, true, true};
    expect_places_apart(flows, place_flows(flows, ranks, shape), ranks, shape);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ExchangePlan, SharesAreKeptToTheRow) {
  const RankMap ranks({1, 1});
  RouteTable routes;
  routes.set(0, 1, {{{{0, 0, 1}}, 0.25}, {{{0, 1, 1}}, 0.75}});
  RowCounts counts{Matrix<int64_t>(2, 2), Matrix<int64_t>(2, 2)};
  counts.to_host(0, 1) = 1000;
  const std::vector<Flow> flows = plan_flows(counts, ranks, routes, 2, RankSet(2));
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].rows, 250);
  EXPECT_EQ(flows[1].rows, 750);
  EXPECT_EQ(flows[1].hops[0].rail, 1);
}

}  // namespace
}  // namespace mixnet::ep
