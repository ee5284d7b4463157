#include "cli/predict_replay.h"

#include <gtest/gtest.h>

#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

// Every iteration routes the same: whoever repeats the last one is right, and nobody pays for it.
TEST(PredictReplay, ConstantTraceIsPredictedExactly) {
  const int64_t iterations = 6;
  std::vector<uint32_t> counts;
  for (int64_t i = 0; i < iterations; ++i) {
    for (uint32_t layer = 0; layer < 2; ++layer) {
      for (uint32_t source = 0; source < 4; ++source) {
        for (uint32_t expert = 0; expert < 4; ++expert) {
          counts.push_back(10 + 30 * ((expert + layer) % 4) + 5 * source);
        }
      }
    }
  }
  const auto trace = scenario::RoutingTrace::from_counts(counts, iterations, 2, 4, 4, {});
  ReplayOptions options;
  options.predictors = {"unchanged", "copilot", "best", "random"};
  options.servers = 4;
  options.alpha = 2;
  options.eps = 1;
  int64_t calls = 0;
  const auto scores =
      replay_predictions(trace.view(), options, [&calls](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, iterations);
  ASSERT_EQ(scores.size(), 4U);
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(scores[p].mean.top_k_accuracy, 1) << scores[p].name;
    EXPECT_NEAR(scores[p].mean.load_error, 0, 1e-9) << scores[p].name;
    EXPECT_NEAR(scores[p].mean.all_to_all_ratio, 1, 1e-6) << scores[p].name;
    EXPECT_EQ(scores[p].mean.scored, 10);
  }
  EXPECT_GT(scores[3].mean.load_error, 0.1);
  EXPECT_GE(scores[3].mean.all_to_all_ratio, 1);
}

// An iteration without tokens is not scored, and what was known stays known.
TEST(PredictReplay, EmptyIterationsAreLeftOut) {
  std::vector<uint32_t> counts = {1, 3, 0, 0, 1, 3};
  const auto trace = scenario::RoutingTrace::from_counts(counts, 3, 1, 1, 2, {});
  ReplayOptions options;
  options.predictors = {"unchanged"};
  options.top_k = 1;
  options.servers = 2;
  const auto scores = replay_predictions(trace.view(), options, {});
  EXPECT_EQ(scores[0].layers[0].scored, 1);
  EXPECT_EQ(scores[0].layers[0].load_error, 0);
}

}  // namespace
}  // namespace mixnet::cli
