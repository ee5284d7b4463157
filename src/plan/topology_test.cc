#include "plan/topology.h"

#include <gtest/gtest.h>

#include <map>
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

// All shortest paths by brute force: depth-first, every parallel link a path of its own.
void count_paths(const DirectTopology& topology, std::vector<int>& path, int dst, std::size_t hops,
                 std::map<int, double>& uses, double& total, double weight) {
  const int here = path.back();
  if (path.size() == hops + 1) {
    if (here != dst) {
      return;
    }
    total += weight;
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      for (std::size_t l = 0; l < topology.links().size(); ++l) {
        for (int side = 0; side < 2; ++side) {
          const int link = static_cast<int>(2 * l) + side;
          const Directed d = ends(topology, link);
          if (d.from == path[k] && d.to == path[k + 1]) {
            uses[link] += weight;
          }
        }
      }
    }
    return;
  }
  for (const DirectLink& link : topology.links()) {
    if (link.i == here || link.j == here) {
      path.push_back(link.i == here ? link.j : link.i);
      count_paths(topology, path, dst, hops, uses, total, weight * link.count);
      path.pop_back();
    }
  }
}

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
    std::map<int, double> uses;
    double total = 0;
    for (std::size_t hops = 1; total == 0; ++hops) {
      std::vector<int> path{0};
      count_paths(topology, path, dst, hops, uses, total, 1);
    }
    const auto route = topology.route(0, dst);
    ASSERT_EQ(route.size(), uses.size());
    for (const RouteShare& share : route) {
      EXPECT_NEAR(share.fraction, uses.at(share.directed_link) / total, 1e-12);
    }
  }
}

TEST(Topology, TrafficIsConservedAtEveryServer) {
  const DirectTopology topology =
      one_shot_topology(TopologyProblem{50, 4, 1, random_demand(50, 200, 11)});
  std::vector<int> all;
  for (int s = 0; s < 50; ++s) {
    all.push_back(s);
  }
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
