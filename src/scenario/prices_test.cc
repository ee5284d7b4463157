#include "scenario/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "scenario/catalog.h"

namespace mixnet::scenario {
namespace {

Cluster cluster_of(int servers, int nics, int gbps) {
  Cluster cluster;
  cluster.servers = servers;
  cluster.nics_per_server = nics;
  cluster.nic_rate = BitRate::from_gbps(gbps);
  return cluster;
}

FabricCost cost_of(FabricKind kind, const Cluster& cluster, int alpha = 6,
                   CostReading reading = CostReading::kFivePorts) {
  FabricSpec fabric;
  fabric.kind = kind;
  fabric.mixnet.alpha = alpha;
  const Result<FabricCost> cost = fabric_cost(fabric, cluster, builtin_catalog().prices, reading);
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost.ok() ? *cost : FabricCost();
}

double total(FabricKind kind, const Cluster& cluster, int alpha = 6,
             CostReading reading = CostReading::kFivePorts) {
  return cost_of(kind, cluster, alpha, reading).total_usd();
}

struct Published {
  int gbps;
  double fat_tree_musd, mixnet_musd, topoopt_musd, ratio;
};

// 1,024 GPUs, 2 electrical and 6 optical NICs per server (MixNet, Appendix D).
constexpr Published kPublished[] = {{100, 2.701, 1.772, 1.032, 1.52},
                                    {200, 4.949, 2.764, 1.606, 1.79},
                                    {400, 11.625, 5.078, 2.466, 2.29},
                                    {800, 18.526, 7.947, 3.991, 2.33}};

TEST(Prices, TotalsAndRatiosOf1024GpusAreThePublishedOnes) {
  for (const Published& row : kPublished) {
    const Cluster cluster = cluster_of(128, 8, row.gbps);
    const double fat_tree = total(FabricKind::kFatTree, cluster);
    const double mixnet = total(FabricKind::kMixnet, cluster);
    EXPECT_NEAR(fat_tree / 1e6, row.fat_tree_musd, 0.0005) << row.gbps;
    EXPECT_NEAR(mixnet / 1e6, row.mixnet_musd, 0.0005) << row.gbps;
    EXPECT_NEAR(total(FabricKind::kTopoOpt, cluster) / 1e6, row.topoopt_musd, 0.0005) << row.gbps;
    EXPECT_NEAR(fat_tree / mixnet, row.ratio, 0.005) << row.gbps;
    EXPECT_EQ(total(FabricKind::kRailOptimized, cluster), fat_tree);
  }
}

TEST(Prices, ItemsAreCountedExactly) {
  const FabricCost cost = cost_of(FabricKind::kMixnet, cluster_of(128, 8, 400));
  ASSERT_EQ(cost.items.size(), 5U);
  const int64_t counts[] = {1024, 5 * 256 + 1024, 5 * 256, 768, 3 * 256 + 768};
  for (std::size_t i = 0; i < cost.items.size(); ++i) {
    EXPECT_EQ(cost.items[i].count, counts[i]) << cost.items[i].item;
  }
}

// The prototype has half as many NICs as GPUs: what is bought is NICs.
TEST(Prices, CountsNicsAndNotGpus) {
  const FabricCost cost = cost_of(FabricKind::kMixnet, cluster_of(4, 4, 100), 3);
  EXPECT_EQ(cost.items[0].count, 16);  // NICs
  EXPECT_EQ(cost.items[2].count, 20);  // switch ports of 4 electrical NICs
  EXPECT_EQ(cost.items[3].count, 12);  // optical ports
}

// The second reading gives the published performance per dollar: iteration-time ratio of
// fat-tree to MixNet times cost ratio, for Mixtral 8x22B and 8x7B.
TEST(Prices, SecondReadingGivesThePublishedPerformancePerDollar) {
  struct Row {
    int gbps;
    double time_8x22b, time_8x7b, perf_8x22b, perf_8x7b;
  };
  const Row rows[] = {{100, 1.3743 / 1.4542, 1.2098 / 1.2488, 1.47, 1.50},
                      {200, 1.1940 / 1.2006, 1.0787 / 1.0976, 1.84, 1.82},
                      {400, 1.0817 / 1.1138, 1.0302 / 1.0309, 2.32, 2.38},
                      {800, 1.0242 / 1.0126, 1.0003 / 1.0013, 2.47, 2.44}};
  for (const Row& row : rows) {
    const Cluster cluster = cluster_of(128, 8, row.gbps);
    const double ratio = total(FabricKind::kFatTree, cluster, 6, CostReading::kSixPorts) /
                         total(FabricKind::kMixnet, cluster, 6, CostReading::kSixPorts);
    EXPECT_NEAR(row.time_8x22b * ratio, row.perf_8x22b, 0.0055) << row.gbps;
    EXPECT_NEAR(row.time_8x7b * ratio, row.perf_8x7b, 0.0055) << row.gbps;
  }
}

TEST(Prices, OversubscriptionSavesAboveTheEdgeOnly) {
  const Cluster cluster = cluster_of(128, 8, 400);
  FabricSpec fabric;
  fabric.kind = FabricKind::kFatTreeOversubscribed;
  fabric.oversubscription = 1;
  const PriceList& prices = builtin_catalog().prices;
  EXPECT_EQ(fabric_cost(fabric, cluster, prices)->total_usd(),
            total(FabricKind::kFatTree, cluster));
  fabric.oversubscription = 3;
  const Result<FabricCost> cost = fabric_cost(fabric, cluster, prices);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->items[0].count, 1024);            // all NICs stay
  EXPECT_EQ(cost->items[2].count, 1024 + 4 * 342);  // ceil(1024 / 3) = 342
}

TEST(Prices, IdealIsNotPriced) {
  EXPECT_TRUE(cost_of(FabricKind::kIdeal, cluster_of(128, 8, 333)).items.empty());
}

TEST(Prices, ARateWithoutPricesIsRefusedWithTheKnownOnes) {
  const Result<FabricCost> cost =
      fabric_cost(FabricSpec(), cluster_of(128, 8, 300), builtin_catalog().prices);
  ASSERT_FALSE(cost.ok());
  EXPECT_THAT(cost.error().message, ::testing::HasSubstr("`400Gbps`"));
}

}  // namespace
}  // namespace mixnet::scenario
