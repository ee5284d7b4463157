#include "scenario/trace_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "scenario/generator.h"
#include "scenario/trace_import.h"

namespace mixnet::scenario {
namespace {

RoutingView view(const std::vector<uint32_t>& counts, int64_t iterations, int64_t layers,
                 int64_t sources, int64_t experts) {
  EXPECT_EQ(static_cast<int64_t>(counts.size()), iterations * layers * sources * experts);
  return {iterations, layers, sources, experts, counts.data()};
}

TEST(TraceStats, ImbalanceIsMaxOverMean) {
  EXPECT_DOUBLE_EQ(imbalance_ratio(std::vector<int64_t>{4, 4, 4}), 1.0);
  EXPECT_DOUBLE_EQ(imbalance_ratio(std::vector<int64_t>{9, 0, 0}), 3.0);
  EXPECT_DOUBLE_EQ(imbalance_ratio(std::vector<int64_t>{0, 0}), 1.0);
}

TEST(TraceStats, DriftIsTotalVariation) {
  const std::vector<int64_t> a = {1, 1, 0};
  EXPECT_DOUBLE_EQ(load_drift(a, a), 0.0);
  EXPECT_DOUBLE_EQ(load_drift(a, std::vector<int64_t>{7, 7, 0}), 0.0);
  EXPECT_DOUBLE_EQ(load_drift(a, std::vector<int64_t>{0, 0, 5}), 1.0);
  EXPECT_DOUBLE_EQ(load_drift(a, std::vector<int64_t>{1, 0, 1}), 0.5);
  EXPECT_DOUBLE_EQ(load_drift(a, std::vector<int64_t>{0, 0, 0}), 0.0);
}

TEST(TraceStats, SmallTraceByHand) {
  // Two iterations, two layers, one source, four experts; two ranks.
  const std::vector<uint32_t> counts = {10, 10, 10, 10,  //
                                        40, 0,  0,  0,   //
                                        20, 20, 0,  0,   //
                                        0,  0,  1,  39};
  const TraceStats stats = trace_stats(view(counts, 2, 2, 1, 4), 2, 3);
  ASSERT_EQ(stats.layers.size(), 2U);
  EXPECT_DOUBLE_EQ(stats.layers[0].expert_imbalance.mean, 1.5);
  EXPECT_DOUBLE_EQ(stats.layers[0].expert_imbalance.max, 2.0);
  EXPECT_DOUBLE_EQ(stats.layers[0].rank_imbalance.mean, 1.5);
  EXPECT_DOUBLE_EQ(stats.layers[0].drift.mean, 0.5);
  EXPECT_DOUBLE_EQ(stats.layers[0].zero_share, 0.25);
  EXPECT_DOUBLE_EQ(stats.layers[0].cold_share, 0.25);
  EXPECT_DOUBLE_EQ(stats.layers[1].expert_imbalance.mean, 3.95);
  EXPECT_DOUBLE_EQ(stats.layers[1].rank_imbalance.max, 2.0);
  EXPECT_DOUBLE_EQ(stats.layers[1].drift.max, 1.0);
  EXPECT_DOUBLE_EQ(stats.layers[1].zero_share, 0.625);
  // A cell holds 10 on average, so the one with 1 is exactly at the tenth and not below it.
  EXPECT_DOUBLE_EQ(stats.layers[1].cold_share, 0.625);
  EXPECT_DOUBLE_EQ(stats.overall.expert_imbalance.mean, (1.5 + 3.95) / 2);
  EXPECT_DOUBLE_EQ(stats.overall.expert_imbalance.max, 4.0);
  EXPECT_DOUBLE_EQ(stats.overall.drift.mean, 0.75);
  EXPECT_EQ(stats.assignments, 160);
  EXPECT_EQ(stats.empty_steps, 0);
  ASSERT_EQ(stats.hottest.size(), 3U);
  EXPECT_EQ(stats.hottest[0].layer, 1);
  EXPECT_EQ(stats.hottest[0].expert, 0);
  EXPECT_DOUBLE_EQ(stats.hottest[0].load_ratio, 2.0);
  EXPECT_EQ(stats.hottest[1].expert, 3);
  EXPECT_EQ(stats.hottest[2].layer, 0);
  EXPECT_EQ(stats.hottest[2].expert, 0);
}

TEST(TraceStats, ColdCellsLieBelowATenthOfTheMean) {
  std::vector<uint32_t> counts(20, 100);
  counts[3] = 9;
  counts[4] = 0;
  const TraceStats stats = trace_stats(view(counts, 1, 1, 2, 10), 1, 0);
  EXPECT_DOUBLE_EQ(stats.overall.zero_share, 0.05);
  EXPECT_DOUBLE_EQ(stats.overall.cold_share, 0.10);
  EXPECT_DOUBLE_EQ(stats.overall.rank_imbalance.max, 1.0);
  EXPECT_TRUE(stats.hottest.empty());
}

TEST(TraceStats, EmptyStepsAreCounted) {
  const std::vector<uint32_t> counts = {0, 0, 3, 1};
  const TraceStats stats = trace_stats(view(counts, 2, 1, 1, 2), 2, 1);
  EXPECT_EQ(stats.empty_steps, 1);
  EXPECT_DOUBLE_EQ(stats.overall.drift.max, 0.0);
  EXPECT_DOUBLE_EQ(stats.overall.expert_imbalance.max, 1.5);
}

TEST(TraceStats, MoreExpertsPerRankNeverRaiseTheImbalance) {
  GeneratorOptions options;
  options.experts = 64;
  options.layers = 6;
  options.iterations = 3;
  options.sources = 4;
  options.tokens = 4096;
  options.top_k = 4;
  const RoutingTrace trace = *generate_trace(options);
  double before = trace_stats(trace.view(), 64, 0).overall.rank_imbalance.mean;
  EXPECT_DOUBLE_EQ(before, trace_stats(trace.view(), 64, 0).overall.expert_imbalance.mean);
  for (int64_t ep = 32; ep >= 1; ep /= 2) {
    const double now = trace_stats(trace.view(), ep, 0).overall.rank_imbalance.mean;
    EXPECT_LE(now, before);
    before = now;
  }
  EXPECT_DOUBLE_EQ(before, 1.0);
}

}  // namespace
}  // namespace mixnet::scenario
