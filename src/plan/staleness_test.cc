#include "plan/staleness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "plan/cadence_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::drifting_trace;
using test_support::DriftingDemand;
using test_support::uniform_circuits;

const Region kRegion{6, 2, Allocator::kSplit, 1};
constexpr auto kLast = Staleness::Target::kLast;
constexpr auto kAverage = Staleness::Target::kAverage;

Staleness watch(const std::vector<IterationLoad>& trace, int sample = 8) {
  Staleness staleness(kRegion, StalenessOptions{256, sample});
  DarkTimes dark(prototype_device());
  const Matrix<int> laid = uniform_circuits(kRegion, trace.front().demand.front().rows());
  for (const IterationLoad& load : trace) {
    staleness.observe(load, laid, dark, {true, true});
  }
  return staleness;
}

// Straight from the definition, all iterations and matrices.
double excess_by_definition(const std::vector<IterationLoad>& trace, std::size_t lag) {
  double sum = 0;
  for (std::size_t t = lag; t < trace.size(); ++t) {
    const Matrix<int> own = circuits_for(kRegion, summed_demand(trace[t]));
    const Matrix<int> old = circuits_for(kRegion, summed_demand(trace[t - lag]));
    sum += all_to_all_s(kRegion, trace[t], old) / all_to_all_s(kRegion, trace[t], own) - 1;
  }
  return sum / static_cast<double>(trace.size() - lag);
}

TEST(RunningMean, OrdinaryMeanOfTheFirstSamples) {
  RunningMean mean;
  EXPECT_EQ(mean.error(), 0);
  for (const double x : {1.0, 2.0, 6.0}) {
    mean.add(x);
  }
  EXPECT_DOUBLE_EQ(mean.mean(), 3);
  // Sample variance 7, three samples.
  EXPECT_DOUBLE_EQ(mean.error(), std::sqrt(7.0 / 3));
  for (int k = 0; k < 1000; ++k) {
    mean.add(10);
  }
  EXPECT_NEAR(mean.mean(), 10, 1e-5);
}

TEST(HeldExcess, BelievesAJumpAtOnceAndAlternationNever) {
  HeldExcess jump;
  HeldExcess alternating;
  for (int t = 0; t < 12; ++t) {
    jump.add(0, true);
    alternating.add(t % 2, true);
  }
  EXPECT_EQ(jump.estimate(2).at_least, 0);
  jump.add(1, true);
  EXPECT_GT(jump.estimate(2).at_least, 0.4);
  EXPECT_LT(alternating.estimate(2).at_least, 0.1);
  EXPECT_EQ(jump.estimate(2).mean, 1);
}

TEST(HeldExcess, OtherCircuitsStartAgainButKeepTheNoise) {
  HeldExcess held;
  for (int t = 0; t < 12; ++t) {
    held.add(1 + 0.1 * (t % 2), true);
  }
  held.add(0.5, false);
  EXPECT_DOUBLE_EQ(held.estimate(2).mean, 0.5);
  EXPECT_LT(held.estimate(2).at_least, 0.5);
  EXPECT_GT(held.estimate(2).at_least, 0.3);
  held.add(std::numeric_limits<double>::infinity(), true);
  EXPECT_EQ(held.estimate(2).at_least, std::numeric_limits<double>::infinity());
}

TEST(Staleness, ConstantDemandDoesNotAge) {
  const Staleness staleness = watch(drifting_trace({8, 2, 1, 0, 1}, 20, {}, 1));
  for (const int64_t lag : {1, 7, 1000}) {
    EXPECT_EQ(staleness.excess_at(kLast, lag), 0);
  }
  EXPECT_EQ(staleness.drift().mean(), 0);
}

TEST(Staleness, LagsAgreeWithTheDefinition) {
  const std::vector<IterationLoad> trace = drifting_trace({8, 1, 1, 0.3, 2}, 120, {}, 1);
  const Staleness staleness = watch(trace);
  for (const std::size_t lag : {1u, 2u, 4u}) {
    const double expected = excess_by_definition(trace, lag);
    EXPECT_NEAR(staleness.excess_at(kLast, static_cast<int64_t>(lag)), expected, 0.15 * expected)
        << lag;
  }
  EXPECT_LT(staleness.excess_at(kLast, 1), staleness.excess_at(kLast, 4));
  EXPECT_GT(staleness.drift().mean(), 0.05);
}

TEST(Staleness, AlternatingDemandIsBestMetOnAverage) {
  const IterationLoad a = drifting_trace({8, 1, 1, 0, 3}, 1, {}, 1)[0];
  const IterationLoad b = drifting_trace({8, 1, 1, 0, 4}, 1, {}, 1)[0];
  std::vector<IterationLoad> trace;
  for (int t = 0; t < 20; ++t) {
    trace.push_back(t % 2 == 0 ? a : b);
  }
  const Staleness staleness = watch(trace);
  EXPECT_LT(staleness.excess_at(kAverage, 1), staleness.excess_at(kLast, 1));
  EXPECT_NEAR(staleness.excess_at(kLast, 1), excess_by_definition(trace, 1), 1e-9);
  // Two iterations later it is the same demand again.
  EXPECT_LT(staleness.excess_at(kLast, 2), staleness.excess_at(kLast, 1));
}

TEST(Staleness, LooksAtAllMatricesInTurn) {
  const Staleness all = watch(drifting_trace({8, 20, 1, 0.1, 5}, 40, {}, 1), 20);
  const Staleness some = watch(drifting_trace({8, 20, 1, 0.1, 5}, 40, {}, 1), 4);
  EXPECT_NEAR(some.reference_s(), all.reference_s(), 0.05 * all.reference_s());
  EXPECT_NEAR(some.excess_at(kLast, 4), all.excess_at(kLast, 4),
              0.3 * all.excess_at(kLast, 4) + 0.005);
}

TEST(Staleness, NothingToSendLeavesWhatIsKnown) {
  std::vector<IterationLoad> trace = drifting_trace({8, 1, 1, 0.3, 6}, 10, {}, 1);
  const double known = watch(trace).excess_at(kLast, 1);
  trace.push_back(trace.back());
  trace.back().demand = {DemandMatrix(8, 8, 0.0)};
  const Staleness staleness = watch(trace);
  EXPECT_EQ(staleness.excess_at(kLast, 1), known);
  EXPECT_EQ(staleness.reference_s(), 0);
}

}  // namespace
}  // namespace mixnet::plan
