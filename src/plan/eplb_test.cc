#include "plan/eplb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mixnet::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

Matrix<int64_t> layers_of(const std::vector<std::vector<int64_t>>& rows) {
  Matrix<int64_t> weight(rows.size(), rows[0].size());
  for (std::size_t l = 0; l < rows.size(); ++l) {
    std::copy(rows[l].begin(), rows[l].end(), weight.row(l).begin());
  }
  return weight;
}

std::vector<int> row(const Matrix<int>& matrix, std::size_t r) {
  return {matrix.row(r).begin(), matrix.row(r).end()};
}

// Load of every GPU under the map, in tokens.
std::vector<double> gpu_loads(const Matrix<int64_t>& weight, const EplbPlan& plan,
                              std::size_t layer, std::size_t gpus) {
  std::vector<double> loads(gpus, 0);
  const std::size_t slots = plan.phy2log.cols();
  for (std::size_t p = 0; p < slots; ++p) {
    const auto e = static_cast<std::size_t>(plan.phy2log(layer, p));
    loads[p / (slots / gpus)] += static_cast<double>(weight(layer, e)) / plan.logcnt(layer, e);
  }
  return loads;
}

const std::vector<std::vector<int64_t>> kExample = {
    {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86},
    {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27}};

// Input and phy2log as published in the README of deepseek-ai/EPLB (MIT), logcnt as pinned by
// vLLM's test of it.
TEST(Eplb, PublishedExampleBitForBit) {
  const EplbPlan plan = rebalance_experts(layers_of(kExample), 16, 4, 2, 8).value();
  EXPECT_TRUE(plan.hierarchical);
  EXPECT_EQ(plan.warning, "");
  EXPECT_THAT(row(plan.phy2log, 0), ElementsAre(5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1));
  EXPECT_THAT(row(plan.phy2log, 1), ElementsAre(7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1));
  EXPECT_THAT(row(plan.logcnt, 0), ElementsAre(1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1));
  EXPECT_THAT(row(plan.logcnt, 1), ElementsAre(1, 2, 1, 1, 1, 2, 2, 1, 2, 1, 1, 1));
  const std::vector<std::vector<int>> first = {{12, -1}, {15, 13}, {11, -1}, {6, -1},
                                               {7, 5},   {0, 2},   {1, -1},  {3, -1},
                                               {4, -1},  {9, -1},  {8, 10},  {14, -1}};
  const std::vector<std::vector<int>> second = {{13, -1}, {15, 11}, {8, -1}, {14, -1},
                                                {9, -1},  {10, 12}, {2, 4},  {0, -1},
                                                {6, 3},   {7, -1},  {1, -1}, {5, -1}};
  for (std::size_t e = 0; e < 12; ++e) {
    EXPECT_THAT(row(plan.log2phy[0], e), ElementsAreArray(first[e])) << e;
    EXPECT_THAT(row(plan.log2phy[1], e), ElementsAreArray(second[e])) << e;
  }
  EXPECT_THAT(gpu_loads(layers_of(kExample), plan, 0, 8),
              ElementsAre(121.5, 86.5, 125, 113, 147.5, 131.5, 156, 152));
}

TEST(Eplb, GlobalPolicyOnTheExample) {
  const EplbPlan plan = rebalance_experts(layers_of(kExample), 16, 1, 1, 8).value();
  EXPECT_THAT(row(plan.phy2log, 0), ElementsAre(10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1));
  EXPECT_THAT(row(plan.phy2log, 1), ElementsAre(1, 10, 2, 4, 5, 11, 5, 0, 6, 7, 6, 3, 8, 8, 9, 7));
  EXPECT_THAT(row(plan.logcnt, 1), ElementsAre(1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1));
}

struct Pathological {
  std::vector<int64_t> weight;
  int slots, groups, nodes, gpus;
  std::vector<int> phy2log;
  std::vector<int> logcnt;  // empty: not stated
};

TEST(Eplb, PathologicalInputsWithStableTies) {
  const std::vector<int64_t> hot = {1000, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<Pathological> cases = {
      {hot, 12, 2, 2, 4, {0, 0, 3, 0, 1, 2, 6, 4, 4, 7, 5, 5}, {3, 1, 1, 1, 2, 2, 1, 1}},
      {hot, 12, 1, 1, 4, {0, 0, 7, 0, 1, 4, 0, 2, 5, 0, 3, 6}, {5, 1, 1, 1, 1, 1, 1, 1}},
      {{0, 0, 0, 0, 0, 0, 0, 0},
       12,
       2,
       2,
       4,
       {0, 1, 2, 3, 0, 0, 4, 5, 6, 7, 4, 4},
       {3, 1, 1, 1, 3, 1, 1, 1}},
      {{50, 50, 50, 50, 50, 50, 50, 50}, 8, 2, 2, 4, {0, 2, 1, 3, 4, 6, 5, 7}, {}},
      {{100, 50, 200, 75, 150, 25, 300, 80}, 12, 4, 2, 4, {6, 6, 7, 0, 6, 1, 2, 3, 4, 2, 4, 5}, {}},
      {{10, 20, 30, 40, 50, 60}, 8, 3, 2, 4, {3, 0, 2, 4, 5, 4, 5, 1}, {1, 1, 1, 1, 2, 2}},
      {{5, 9, 1, 1, 7, 3}, 8, 3, 1, 8, {0, 1, 4, 5, 2, 3, 1, 4}, {1, 2, 1, 1, 2, 1}},
      {kExample[0], 12, 4, 2, 4, {5, 3, 7, 4, 8, 6, 10, 11, 2, 1, 0, 9}, {}}};
  for (const Pathological& c : cases) {
    const EplbPlan plan =
        rebalance_experts(layers_of({c.weight}), c.slots, c.groups, c.nodes, c.gpus).value();
    EXPECT_THAT(row(plan.phy2log, 0), ElementsAreArray(c.phy2log));
    if (!c.logcnt.empty()) {
      EXPECT_THAT(row(plan.logcnt, 0), ElementsAreArray(c.logcnt));
    }
  }
}

TEST(Eplb, GlobalFallbackIsSaid) {
  const EplbPlan plan =
      rebalance_experts(layers_of({{10, 20, 30, 40, 50, 60}}), 8, 3, 2, 4).value();
  EXPECT_FALSE(plan.hierarchical);
  EXPECT_THAT(plan.warning, HasSubstr("3 groups cannot be divided over 2 nodes"));
}

TEST(Eplb, PaddingIsThatOfTheWidestLayer) {
  const EplbPlan plan = rebalance_experts(layers_of({{9, 1, 1}, {1, 1, 1}}), 6, 1, 1, 3).value();
  EXPECT_EQ(plan.log2phy[0].cols(), 4U);
  EXPECT_EQ(plan.log2phy[1].cols(), 4U);
}

// Counts whose sum is beyond 64 bits, and that 64-bit floats cannot tell apart.
TEST(Eplb, CountsOfSixtyTwoBits) {
  const int64_t big = int64_t{1} << 62;
  const EplbPlan plan =
      rebalance_experts(layers_of({{big, big + 1, big + 2, 3}}), 6, 1, 1, 2).value();
  EXPECT_THAT(row(plan.logcnt, 0), ElementsAre(1, 2, 2, 1));
}

TEST(Eplb, ErrorsSayWhatToChange) {
  const Matrix<int64_t> six = layers_of({{1, 2, 3, 4, 5, 6}});
  EXPECT_THAT(rebalance_experts(six, 5, 1, 1, 1).error().message, HasSubstr("at least 6 slots"));
  EXPECT_THAT(rebalance_experts(six, 8, 4, 1, 4).error().message, HasSubstr("a divisor of 6"));
  EXPECT_THAT(rebalance_experts(six, 9, 3, 2, 3).error().message, HasSubstr("a multiple of 2"));
  EXPECT_THAT(rebalance_experts(six, 9, 1, 1, 4).error().message, HasSubstr("give 8 or 12 slots"));
  EXPECT_THAT(rebalance_experts(six, 8, 1, 0, 4).error().message, HasSubstr("1 or more"));
  EXPECT_THAT(rebalance_experts(layers_of({{1, -2}}), 2, 1, 1, 1).error().message, HasSubstr("-2"));
  EXPECT_THAT(rebalance_experts(Matrix<int64_t>(), 2, 1, 1, 1).error().message,
              HasSubstr("no loads"));
}

}  // namespace
}  // namespace mixnet::plan
