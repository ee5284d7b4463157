#include "cli/prediction_policy.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/compare.h"
#include "core/random.h"
#include "plan/predict.h"
#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

constexpr int kRoutedExperts = 8;
constexpr int kRoutedLayers = 4;
constexpr int kSteps = 24;

// Every source knows four experts, those after its own; which one is popular is drawn anew in the
// first layer of every step and moves on by three experts from layer to layer. Whoever knows the
// layer before knows this one; the step before says nothing.
scenario::RoutingTrace moving_trace(uint32_t tokens) {
  RandomStream random(1, "moving trace");
  std::vector<uint32_t> counts;
  for (int step = 0; step < kSteps; ++step) {
    int popular = static_cast<int>(random.uniform() * kRoutedExperts);
    for (int layer = 0; layer < kRoutedLayers; ++layer, popular = (popular + 3) % kRoutedExperts) {
      for (int source = 0; source < kRoutedExperts; ++source) {
        std::array<uint32_t, kRoutedExperts> row{};
        std::array<uint32_t, kRoutedExperts> weight{};
        uint32_t sum = 0;
        for (int k = 1; k <= 4; ++k) {
          const int expert = (source + k) % kRoutedExperts;
          weight[static_cast<std::size_t>(expert)] = expert == popular ? 12 : 1;
          sum += expert == popular ? 12 : 1;
        }
        uint32_t left = tokens;
        for (std::size_t e = 0; e < row.size(); ++e) {
          row[e] = tokens * weight[e] / sum;
          left -= row[e];
        }
        row[static_cast<std::size_t>((source + 1) % kRoutedExperts)] += left;
        counts.insert(counts.end(), row.begin(), row.end());
      }
    }
  }
  return scenario::RoutingTrace::from_counts(counts, kSteps, kRoutedLayers, kRoutedExperts,
                                             kRoutedExperts, {});
}

DemandMatrix assignments(const RoutingView& trace, int64_t step, int64_t layer) {
  DemandMatrix demand(kRoutedExperts, kRoutedExperts);
  for (std::size_t s = 0; s < kRoutedExperts; ++s) {
    const auto row = trace.row(step, layer, static_cast<int64_t>(s));
    std::copy(row.begin(), row.end(), demand.row(s).begin());
  }
  return demand;
}

Matrix<double> loads_of(const RoutingView& trace, int64_t step, int64_t first, int64_t count) {
  Matrix<double> loads(static_cast<std::size_t>(count), kRoutedExperts);
  for (int64_t l = 0; l < count; ++l) {
    const DemandMatrix demand = assignments(trace, step, first + l);
    for (std::size_t s = 0; s < kRoutedExperts; ++s) {
      for (std::size_t e = 0; e < kRoutedExperts; ++e) {
        loads(static_cast<std::size_t>(l), e) += demand(s, e);
      }
    }
  }
  return loads;
}

class PredictionPolicy : public ::testing::TestWithParam<std::pair<Predictor, const char*>> {
 protected:
  static constexpr uint32_t kTokens = 2048;

  PredictionPolicy() : trace_(moving_trace(kTokens)) {
    study_.model.layers = kRoutedLayers;
    study_.model.experts = kRoutedExperts;
    study_.model.top_k = 2;
    study_.parallelism.ep = kRoutedExperts;
    study_.parallelism.pp = 2;
    study_.parallelism.micro_batch_size = 1;
    study_.parallelism.sequence_length = kTokens / 2;
    study_.routing.per_micro_batch = true;
    study_.parallelism.micro_batches = 2;
    spec_.kind = FabricKind::kMixnet;
    spec_.mixnet.dispatch = DispatchMode::kPredict;
    spec_.mixnet.predictor = GetParam().first;
  }

  // What a region may know; anything else fails the test.
  sim::PredictionRequest request(int64_t step, int64_t layer) const {
    return {step, layer, 0, [this, step, layer](int64_t s, int64_t l) {
              EXPECT_GE(s, 0);
              EXPECT_TRUE(s < step || (s == step && l < layer)) << s << " " << l;
              EXPECT_EQ(l / 2, layer / 2) << "a layer of another stage";
              return std::optional(assignments(trace_.view(), s, l));
            }};
  }

  // The predictor on its own, fed with steps from `first` on, asked for one layer of `step`.
  DemandMatrix expected(int64_t first, int64_t step, int64_t layer) const {
    const auto predictor =
        plan::make_predictor(GetParam().second, run_predictor_options(2, kRoutedExperts)).value();
    const int64_t stage = layer / 2 * 2;
    for (int64_t s = first; s < step; ++s) {
      predictor->observe(loads_of(trace_.view(), s, stage, 2));
    }
    const Matrix<double> loads = loads_of(trace_.view(), step, stage, 2);
    return plan::predicted_demand(assignments(trace_.view(), step - 1, layer),
                                  predictor->predict(static_cast<int>(layer - stage), loads),
                                  std::vector<double>(kRoutedExperts, kTokens));
  }

  Study study_;
  FabricSpec spec_;
  scenario::RoutingTrace trace_;
};

TEST_P(PredictionPolicy, GivesThePredictorsDemand) {
  const sim::PredictPolicy policy = prediction_policy(spec_, study_);
  for (int64_t step = 1; step < 12; ++step) {
    for (int64_t layer = 0; layer < kRoutedLayers; ++layer) {
      EXPECT_EQ(policy(request(step, layer)), expected(0, step, layer)) << step << " " << layer;
    }
  }
}

TEST_P(PredictionPolicy, LearnsFromStepsThatNobodyAskedFor) {
  const sim::PredictPolicy policy = prediction_policy(spec_, study_);
  policy(request(3, 1));
  EXPECT_EQ(policy(request(11, 2)), expected(0, 11, 2));
  EXPECT_EQ(policy(request(11, 1)), expected(0, 11, 1));
}

// A region that lost a NIC has circuits of its own and asks on its own, later than others do.
TEST_P(PredictionPolicy, AnswersTheSameAgain) {
  const sim::PredictPolicy policy = prediction_policy(spec_, study_);
  std::vector<DemandMatrix> first;
  for (const int64_t step : {5, 6}) {
    for (const int64_t layer : {0, 1}) {
      first.push_back(policy(request(step, layer)));
    }
  }
  std::size_t at = 0;
  for (const int64_t step : {5, 6}) {
    for (const int64_t layer : {0, 1}) {
      EXPECT_EQ(policy(request(step, layer)), first[at++]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PredictionPolicy,
                         ::testing::Values(std::pair(Predictor::kAverage, "average"),
                                           std::pair(Predictor::kCopilot, "copilot"),
                                           std::pair(Predictor::kBest, "best")),
                         [](const auto& which) { return std::string(which.param.second); });

TEST(PredictionPolicyOf, NothingToPredictIsNoPolicy) {
  FabricSpec spec;
  spec.kind = FabricKind::kMixnet;
  spec.mixnet.predictor = Predictor::kCopilot;
  spec.mixnet.dispatch = DispatchMode::kBlock;
  EXPECT_FALSE(prediction_policy(spec, Study{}));
  spec.mixnet.dispatch = DispatchMode::kPredict;
  spec.mixnet.predictor = Predictor::kUnchanged;
  EXPECT_FALSE(prediction_policy(spec, Study{}));
}

Comparison run_moving() {
  const std::vector<std::string> settings = {
      "model.layers=4",
      "parallelism.pp=1",
      "parallelism.dp=1",
      "cluster.servers=8",
      "parallelism.micro_batches=1",
      "routing.first_iteration=4",
      "run.iterations=20",
      "mixnet={alpha=4, switch_time='10us'}",
      "fabric=[{name='mixnet', label='unchanged', dispatch='predict'}, "
      "{name='mixnet', label='average', dispatch='predict', predictor='average'}, "
      "{name='mixnet', label='copilot', dispatch='predict', predictor='copilot'}, "
      "{name='mixnet', label='best', dispatch='predict', predictor='best'}, "
      "{name='mixnet', label='known', dispatch='block', switch_time='0'}]"};
  const auto scenario = scenario::read_scenario(
      std::string(MIXNET_SOURCE_DIR) + "/examples/mixtral-8x7b-drift-256gpu.toml", settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().text();
  const auto trace = moving_trace(2 * 2 * 4096);
  Result<Comparison> comparison = compare(*scenario, trace.view(), nullptr);
  EXPECT_TRUE(comparison.ok()) << comparison.error().text();
  return *std::move(comparison);
}

// Three of four layers follow from the one before.
TEST(Prediction, CopilotLearnsWhatFollowsFromTheLayerBefore) {
  const Comparison c = run_moving();
  const FabricResult& unchanged = c.fabrics[0];
  const FabricResult& copilot = c.fabrics[2];
  const FabricResult& known = c.fabrics[4];
  EXPECT_LT(copilot.iteration, unchanged.iteration);
  EXPECT_LE(c.fabrics[3].iteration, unchanged.iteration);
  EXPECT_GE(copilot.iteration, known.iteration);
  // A quarter of the layers cannot be predicted, and the first iterations learn.
  EXPECT_LT((copilot.iteration - known.iteration) * 2, unchanged.iteration - known.iteration);
}

TEST(Prediction, EqualRunsGiveEqualIterations) {
  const Comparison first = run_moving();
  const Comparison second = run_moving();
  for (std::size_t f = 0; f < first.fabrics.size(); ++f) {
    ASSERT_EQ(first.fabrics[f].iterations.size(), second.fabrics[f].iterations.size());
    for (std::size_t i = 0; i < first.fabrics[f].iterations.size(); ++i) {
      EXPECT_EQ(first.fabrics[f].iterations[i].iteration,
                second.fabrics[f].iterations[i].iteration);
    }
  }
}

}  // namespace
}  // namespace mixnet::cli
