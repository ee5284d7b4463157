#include "cli/place_replay.h"

#include <gtest/gtest.h>

#include "scenario/generator.h"

namespace mixnet::cli {
namespace {

scenario::RoutingTrace drifting(double drift, int64_t iterations) {
  scenario::GeneratorOptions options;
  options.skew = 1.0;
  options.drift = drift;
  options.iterations = iterations;
  options.layers = 2;
  options.sources = 8;
  options.experts = 64;
  options.tokens = 512;
  options.top_k = 4;
  auto trace = scenario::generate_trace(options);
  EXPECT_TRUE(trace.ok());
  return std::move(trace).value();
}

PlaceReplayOptions options_for(plan::PlacePolicy policy, int slots) {
  PlaceReplayOptions options;
  auto cluster = plan::even_cluster(8, 2, slots, plan::one_nic_per_gpu(4));
  EXPECT_TRUE(cluster.ok());
  options.cluster = *cluster;
  options.policy = policy;
  options.every = 4;
  return options;
}

TEST(PlaceReplay, ConstantRoutingStaysAsItWasPlanned) {
  const auto trace = drifting(0, 10);
  const auto result = replay_placement(trace.view(), options_for(plan::PlacePolicy::kNicAware, 72));
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->plans, 2);
  EXPECT_EQ(result->moved, 0);
  EXPECT_NEAR(result->right_after.planned, result->before_next.planned, 0.01);
  EXPECT_LT(result->right_after.planned, 1.03);
  EXPECT_GT(result->mean.contiguous, 1.2);
}

TEST(PlaceReplay, DriftAgesAPlanAndSwapsMendIt) {
  const auto trace = drifting(0.1, 24);
  for (const auto policy : {plan::PlacePolicy::kEplb, plan::PlacePolicy::kNicAware}) {
    const auto result = replay_placement(trace.view(), options_for(policy, 72));
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(result->points.size(), 20U);
    EXPECT_EQ(result->points.front().iteration, 4);
    EXPECT_EQ(result->before_next.age, 3);
    EXPECT_LT(result->right_after.planned, result->before_next.planned);
    EXPECT_LT(result->mean.swapped, result->mean.planned);
    EXPECT_LT(result->mean.planned, result->mean.contiguous);
    EXPECT_GT(result->swaps, 0);
    for (const PlaceReplayPoint& p : result->points) {
      EXPECT_LE(p.swapped, p.planned);
      EXPECT_GE(p.swapped, 1);
    }
  }
}

TEST(PlaceReplay, AThresholdThatNothingReachesSwapsNothing) {
  PlaceReplayOptions options = options_for(plan::PlacePolicy::kEplb, 72);
  options.swaps.threshold = 1'000'000'000;
  const auto result = replay_placement(drifting(0.1, 12).view(), options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->swaps, 0);
  EXPECT_EQ(result->mean.swapped, result->mean.planned);
}

TEST(PlaceReplay, SaysWhatIsMissing) {
  const auto trace = drifting(0.1, 4);
  const auto result = replay_placement(trace.view(), options_for(plan::PlacePolicy::kEplb, 72));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("smaller --every"), std::string::npos);
  const auto odd =
      replay_placement(drifting(0.1, 8).view(), options_for(plan::PlacePolicy::kEplb, 70));
  EXPECT_FALSE(odd.ok());  // 70 slots on 8 GPUs
  PlaceReplayOptions hosts = options_for(plan::PlacePolicy::kNicAware, 72);
  hosts.cluster = *plan::even_cluster(7, 3, 72, plan::one_nic_per_gpu(4));
  EXPECT_FALSE(replay_placement(drifting(0.1, 8).view(), hosts).ok());
  const auto uneven =
      replay_placement(drifting(0.1, 8).view(), options_for(plan::PlacePolicy::kNicAware, 70));
  EXPECT_TRUE(uneven.ok());
}

}  // namespace
}  // namespace mixnet::cli
