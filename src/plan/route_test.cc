#include "plan/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/index.h"
#include "plan/wire.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

Wiring sample(std::size_t n, Allocator allocator, uint64_t seed) {
  return wire(WireProblem{test_support::log_normal_demand(n, 1, seed), 6, 2}, allocator);
}

TEST(EvenLayout, SpreadsOpticalNicsOverNodes) {
  const ServerLayout layout = even_layout(8, 8, 6, 2);
  EXPECT_EQ(layout.optical_nics, (std::vector<int>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(layout.electrical_nics, (std::vector<int>{3, 7}));
  EXPECT_EQ(layout.nic_gpu, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  const ServerLayout few = even_layout(8, 4, 3, 2);
  EXPECT_EQ(few.optical_nics, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(few.nic_gpu, (std::vector<int>{0, 2, 4, 6}));
}

TEST(RouteTable, EveryCircuitHasItsOwnNics) {
  for (const Allocator allocator : {Allocator::kSplit, Allocator::kRelay}) {
    const Wiring wiring = sample(12, allocator, 1);
    const RouteTable table = route_table(wiring, even_layout(8, 8, 6, 2));
    std::set<std::pair<int, int>> used;
    Matrix<int> counted(12, 12, 0);
    for (const CircuitEnds& c : table.circuits) {
      EXPECT_TRUE(used.insert({c.server_a, c.nic_a}).second);
      EXPECT_TRUE(used.insert({c.server_b, c.nic_b}).second);
      counted(at(c.server_a), at(c.server_b)) += 1;
      counted(at(c.server_b), at(c.server_a)) += 1;
    }
    EXPECT_EQ(counted, wiring.circuits);
  }
}

// Adds up what every NIC sends, from GPUs over carriers, and compares with the wiring.
TEST(RouteTable, SharesAddUpToTheWiring) {
  constexpr std::size_t n = 12;
  const DemandMatrix demand = test_support::log_normal_demand(n, 1, 2);
  const Wiring wiring = wire(WireProblem{demand, 6, 2}, Allocator::kRelay);
  ASSERT_FALSE(wiring.relay.empty());
  const ServerLayout layout = even_layout(8, 8, 6, 2);
  const RouteTable table = route_table(wiring, layout);
  std::map<std::pair<int, int>, double> sent;  // (server, NIC)
  std::map<std::pair<int, int>, std::pair<int, int>> far;
  for (const CircuitEnds& c : table.circuits) {
    far[{c.server_a, c.nic_a}] = {c.server_b, c.nic_b};
    far[{c.server_b, c.nic_b}] = {c.server_a, c.nic_a};
  }
  for (const PairRoute& route : table.pairs) {
    const double amount = demand(at(route.src), at(route.dst));
    std::vector<double> fed(route.carriers.size(), 0.0);
    std::map<int, double> per_gpu;
    for (const GpuShare& share : route.gpus) {
      fed[at(share.carrier)] += share.share / 8;
      per_gpu[share.gpu] += share.share;
    }
    EXPECT_EQ(per_gpu.size(), 8U);
    for (const auto& [gpu, total] : per_gpu) {
      EXPECT_NEAR(total, 1, 1e-6) << gpu;
    }
    for (std::size_t k = 0; k < route.carriers.size(); ++k) {
      const Carrier& c = route.carriers[k];
      EXPECT_NEAR(fed[k], c.share, 1e-6);
      EXPECT_EQ(c.gpu, layout.nic_gpu[at(c.nic)]);
      sent[{route.src, c.nic}] += c.share * amount;
      if (c.kind == CarrierKind::kElectrical) {
        continue;
      }
      const int reached = c.kind == CarrierKind::kRelay ? c.via : route.dst;
      EXPECT_EQ(far.at({route.src, c.nic}), std::pair(reached, c.peer_nic));
      if (c.kind == CarrierKind::kRelay) {
        EXPECT_EQ(far.at({c.via, c.via_nic}), std::pair(route.dst, c.last_nic));
        sent[{c.via, c.via_nic}] += c.share * amount;
      }
    }
  }
  for (const auto& [key, amount] : sent) {
    EXPECT_LE(amount, wiring.completion * (1 + 1e-6)) << key.first << "/" << key.second;
  }
}

// All ways of halving six circuits over two nodes.
TEST(RouteTable, NumaNodesAreAsEvenAsTheyCanBe) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Wiring wiring = sample(7, Allocator::kSplit, seed);
    const ServerLayout layout = even_layout(8, 8, 6, 2);
    const double reached = numa_imbalance(route_table(wiring, layout), wiring, layout);
    double best = 1;
    for (std::size_t i = 0; i < 7; ++i) {
      std::vector<double> loads;
      for (std::size_t j = 0; j < 7; ++j) {
        for (int c = 0; c < wiring.circuits(i, j); ++c) {
          loads.push_back((wiring.circuit(i, j) + wiring.circuit(j, i)) / wiring.circuits(i, j));
        }
      }
      double total = 0;
      double most = 1e300;
      for (unsigned mask = 0; mask < 1U << loads.size(); ++mask) {
        double one = 0;
        double all = 0;
        std::size_t count = 0;
        for (std::size_t k = 0; k < loads.size(); ++k) {
          all += loads[k];
          if ((mask >> k & 1U) != 0) {
            one += loads[k];
            ++count;
          }
        }
        total = all;
        if (count <= 3 && loads.size() - count <= 3) {
          most = std::min(most, std::max(one, all - one));
        }
      }
      best = std::max(best, most * 2 / total);
    }
    EXPECT_GE(reached, best * (1 - 1e-9));
    EXPECT_LE(reached, best * 1.05) << seed;
  }
}

TEST(RouteTable, AGpuUsesItsOwnNicFirst) {
  Wiring wiring;
  wiring.circuits = Matrix<int>(2, 2, 0);
  wiring.circuits(0, 1) = wiring.circuits(1, 0) = 2;
  wiring.circuit = Matrix<double>(2, 2, 0.0);
  wiring.circuit(0, 1) = 6;
  wiring.eps = Matrix<double>(2, 2, 0.0);
  wiring.eps(0, 1) = 2;
  const RouteTable table = route_table(wiring, even_layout(4, 4, 2, 2));
  ASSERT_EQ(table.pairs.size(), 1U);
  const PairRoute& route = table.pairs[0];
  ASSERT_EQ(route.carriers.size(), 4U);
  for (const GpuShare& share : route.gpus) {
    const Carrier& carrier = route.carriers[at(share.carrier)];
    if (share.gpu == carrier.gpu) {
      EXPECT_NEAR(share.share, std::min(1.0, carrier.share * 4), 1e-9);
    }
  }
}

TEST(RouteTable, NothingToSend) {
  const Wiring wiring = wire(WireProblem{DemandMatrix(3, 3, 0.0), 6, 2}, Allocator::kRelay);
  EXPECT_TRUE(route_table(wiring, even_layout(8, 8, 6, 2)).pairs.empty());
}

}  // namespace
}  // namespace mixnet::plan
