#include "plan/topology.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"

namespace mixnet::plan {
namespace {

std::vector<PairDemand> random_demand(int servers, int pairs, uint64_t seed) {
  RandomStream random(seed, "topology test");
  std::vector<PairDemand> demand;
  for (int k = 0; k < pairs; ++k) {
    const int src = static_cast<int>(random.below(static_cast<uint64_t>(servers)));
    const int dst = static_cast<int>(random.below(static_cast<uint64_t>(servers)));
    demand.push_back(PairDemand{src, dst, random.log_normal(0, 1)});
  }
  return demand;
}

std::vector<int> degrees(const DirectTopology& topology) {
  std::vector<int> degree(static_cast<std::size_t>(topology.servers()), 0);
  for (const DirectLink& link : topology.links()) {
    degree[static_cast<std::size_t>(link.i)] += link.count;
    degree[static_cast<std::size_t>(link.j)] += link.count;
  }
  return degree;
}

int count_between(const DirectTopology& topology, int i, int j) {
  for (const DirectLink& link : topology.links()) {
    if (link.i == i && link.j == j) {
      return link.count;
    }
  }
  return 0;
}

struct Directed {
  int from = 0;
  int to = 0;
};

Directed ends(const DirectTopology& topology, int directed_link) {
  const DirectLink& link = topology.links()[static_cast<std::size_t>(directed_link / 2)];
  return directed_link % 2 == 0 ? Directed{link.i, link.j} : Directed{link.j, link.i};
}

// Every path of a given length by brute force; parallel links are paths of their own.
struct PathCounter {
  const DirectTopology& topology;
  int dst;
  std::map<int, double> uses;  // by directed link: paths over it
  double total = 0;

  void descend(int here, std::size_t hops, std::vector<int>& links, double weight) {
    if (hops == 0) {
      if (here == dst) {
        total += weight;
        for (const int link : links) {
          uses[link] += weight;
        }
      }
      return;
    }
    for (std::size_t k = 0; k < topology.links().size(); ++k) {
      for (int side = 0; side < 2; ++side) {
        const int link = static_cast<int>(2 * k) + side;
        if (ends(topology, link).from == here) {
          links.push_back(link);
          descend(ends(topology, link).to, hops - 1, links, weight * topology.links()[k].count);
          links.pop_back();
        }
      }
    }
  }
};

TEST(Topology, DegreeIsRespectedAndRingConnects) {
  for (const int servers : {1, 2, 3, 5, 16, 37}) {
    for (const int degree : {2, 3, 8}) {
      const DirectTopology topology = one_shot_topology(
          TopologyProblem{servers, degree, 1, random_demand(servers, 5 * servers, 3)});
      for (const int d : degrees(topology)) {
        EXPECT_LE(d, degree);
      }
      for (int dst = 1; dst < servers; ++dst) {
        EXPECT_FALSE(topology.route(0, dst).empty()) << servers << " servers, degree " << degree;
      }
    }
  }
}

TEST(Topology, HeavyPairsGetLinksAndLeftPortsAreUsed) {
  const DirectTopology topology = one_shot_topology(
      TopologyProblem{8, 4, 1, {{0, 4, 100}, {4, 0, 20}, {1, 5, 10}, {3, 3, 1e9}}});
  EXPECT_EQ(count_between(topology, 0, 4), 2);
  EXPECT_EQ(count_between(topology, 1, 5), 2);
  EXPECT_EQ(count_between(topology, 0, 1), 1);  // the ring
  for (const int d : degrees(topology)) {
    EXPECT_EQ(d, 4);
  }
}

TEST(Topology, SeveralRingsHaveDistinctStrides) {
  const DirectTopology topology = one_shot_topology(TopologyProblem{64, 4, 2, {}});
  EXPECT_EQ(topology.links().size(), 128U);
  EXPECT_EQ(count_between(topology, 0, 1), 1);
  EXPECT_EQ(count_between(topology, 0, 9), 1);  // 8 = sqrt(64) is not coprime to 64
}

TEST(Topology, DirectLinksCarryTheirPairAlone) {
  const DirectTopology topology =
      one_shot_topology(TopologyProblem{16, 6, 1, random_demand(16, 40, 5)});
  for (std::size_t k = 0; k < topology.links().size(); ++k) {
    const DirectLink& link = topology.links()[k];
    const auto route = topology.route(link.j, link.i);
    ASSERT_EQ(route.size(), 1U);
    EXPECT_EQ(route[0].directed_link, static_cast<int>(2 * k + 1));
    EXPECT_DOUBLE_EQ(route[0].fraction, 1);
  }
}

TEST(Topology, RoutesEqualBruteForceOverShortestPaths) {
  const DirectTopology topology =
      one_shot_topology(TopologyProblem{12, 3, 1, random_demand(12, 30, 9)});
  for (int dst = 1; dst < 12; ++dst) {
    PathCounter counter{topology, dst, {}};
    for (std::size_t hops = 1; counter.total == 0; ++hops) {
      std::vector<int> links;
      counter.descend(0, hops, links, 1);
    }
    const auto route = topology.route(0, dst);
    ASSERT_EQ(route.size(), counter.uses.size());
    for (const RouteShare& share : route) {
      EXPECT_NEAR(share.fraction, counter.uses.at(share.directed_link) / counter.total, 1e-12);
    }
  }
}

TEST(Topology, TrafficIsConservedAtEveryServer) {
  const DirectTopology topology =
      one_shot_topology(TopologyProblem{50, 4, 1, random_demand(50, 200, 11)});
  std::vector<int> all(50);
  std::iota(all.begin(), all.end(), 0);
  const auto routes = topology.routes_from(7, all);
  EXPECT_TRUE(routes[7].empty());
  for (int dst = 0; dst < 50; ++dst) {
    if (dst == 7) {
      continue;
    }
    std::vector<double> net(50, 0.0);
    for (const RouteShare& share : routes[static_cast<std::size_t>(dst)]) {
      net[static_cast<std::size_t>(ends(topology, share.directed_link).from)] -= share.fraction;
      net[static_cast<std::size_t>(ends(topology, share.directed_link).to)] += share.fraction;
    }
    for (int s = 0; s < 50; ++s) {
      const double wanted = s == 7 ? -1 : (s == dst ? 1 : 0);
      EXPECT_NEAR(net[static_cast<std::size_t>(s)], wanted, 1e-12);
    }
  }
}

TEST(Topology, UnreachableAndLocalPairsHaveNoRoute) {
  const DirectTopology topology(4, {DirectLink{0, 1, 1}, DirectLink{2, 3, 1}});
  EXPECT_TRUE(topology.route(0, 3).empty());
  EXPECT_TRUE(topology.route(2, 2).empty());
  EXPECT_EQ(topology.route(0, 1).size(), 1U);
}

TEST(Topology, LargeSparseJobIsFeasible) {
  const DirectTopology topology =
      one_shot_topology(TopologyProblem{4096, 8, 1, random_demand(4096, 40'000, 13)});
  for (const int d : degrees(topology)) {
    EXPECT_LE(d, 8);
  }
  EXPECT_FALSE(topology.route(0, 4095).empty());
}

}  // namespace
}  // namespace mixnet::plan
