#include "plan/delay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "plan/switching.h"

namespace mixnet::plan {
namespace {

Delay delay_ms(double mean, double p99) {
  return Delay{SimTime::from_seconds(mean * 1e-3), SimTime::from_seconds(p99 * 1e-3)};
}

const Delay kPublished[] = {delay_ms(41.44, 60), delay_ms(42.44, 62), delay_ms(46.75, 68),
                            delay_ms(5670, 6330), delay_ms(10, 140)};

TEST(DelayLaw, HasTheMeanAndThePercentileItWasGiven) {
  for (const Delay& delay : kPublished) {
    const DelayLaw law(delay);
    EXPECT_NEAR(law.p99_s(), delay.p99.seconds(), 1e-9 * delay.p99.seconds());
    // The mean of the law itself, by integration.
    EXPECT_NEAR(law.expected_max_s(1), delay.mean.seconds(), 1e-4 * delay.mean.seconds());
    for (const double p : {0.001, 0.3, 0.9, 0.9999}) {
      EXPECT_NEAR(law.cdf(law.quantile_s(p)), p, 1e-9);
    }
  }
}

// An oracle that shares nothing with the integration: many draws.
TEST(DelayLaw, LargestOfManyAgreesWithDraws) {
  RandomStream random(7, "delay test");
  for (const Delay& delay : {delay_ms(5670, 6330), delay_ms(41.44, 60)}) {
    const DelayLaw law(delay);
    const double mu = std::log(law.mean_s()) - law.sigma() * law.sigma() / 2;
    for (const int n : {1, 2, 16, 48}) {
      constexpr int kRounds = 4000;
      double sum = 0;
      double squares = 0;
      for (int round = 0; round < kRounds; ++round) {
        double largest = 0;
        for (int k = 0; k < n; ++k) {
          largest = std::max(largest, random.log_normal(mu, law.sigma()));
        }
        sum += largest;
        squares += largest * largest;
      }
      const double mean = sum / kRounds;
      const double error = std::sqrt((squares / kRounds - mean * mean) / kRounds);
      EXPECT_NEAR(law.expected_max_s(n), mean, 4 * error) << n;
    }
  }
}

TEST(DelayLaw, ConstantWithoutSpread) {
  for (const Delay& delay : {delay_ms(25, 0), delay_ms(25, 25)}) {
    const DelayLaw law(delay);
    EXPECT_DOUBLE_EQ(law.expected_max_s(48), 0.025);
    EXPECT_DOUBLE_EQ(law.p99_s(), 0.025);
    EXPECT_EQ(law.cdf(0.0249), 0);
    EXPECT_EQ(law.cdf(0.0251), 1);
  }
  EXPECT_EQ(DelayLaw(Delay{}).expected_max_s(3), 0);
  EXPECT_EQ(DelayLaw(delay_ms(5670, 6330)).expected_max_s(0), 0);
}

TEST(DelayLaw, WhatNoLogNormalHasIsTheWidestLaw) {
  const DelayLaw law(delay_ms(10, 10'000));
  EXPECT_NEAR(law.expected_max_s(1), 0.010, 1e-5);
  EXPECT_NEAR(law.p99_s(), 0.1497, 1e-4);
}

TEST(DelayLaw, PointsStandForTheLaw) {
  const DelayLaw law(delay_ms(41.44, 60));
  for (const int n : {1, 12}) {
    const std::vector<double> points = law.max_points_s(n, 32);
    EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
    double sum = 0;
    for (const double p : points) {
      sum += p;
    }
    EXPECT_NEAR(sum / 32, law.expected_max_s(n), 1e-12);
  }
}

TEST(PrototypeSwitch, FitOfTheMeasuredSwitch) {
  EXPECT_NEAR(prototype_switch_delay(1).mean.ms(), 41.44, 0.1);
  EXPECT_NEAR(prototype_switch_delay(4).mean.ms(), 42.44, 0.1);
  EXPECT_NEAR(prototype_switch_delay(16).mean.ms(), 46.75, 0.1);
  EXPECT_NEAR(prototype_switch_delay(1).p99.ms(), 60, 0.26);
  EXPECT_NEAR(prototype_switch_delay(4).p99.ms(), 62, 0.26);
  EXPECT_NEAR(prototype_switch_delay(16).p99.ms(), 68, 0.26);
}

TEST(DarkTimes, ConstantDelaysAreExposedTime) {
  const SwitchDevice device{delay_ms(25, 0), SimTime(), delay_ms(10, 0)};
  DarkTimes dark(device);
  EXPECT_EQ(dark.exposed_s(0, SimTime()), 0);
  for (const int64_t window_ms : {0, 20, 35, 50}) {
    const SimTime window = SimTime::from_ms(window_ms);
    EXPECT_DOUBLE_EQ(dark.exposed_s(6, window),
                     exposed_time(SimTime::from_ms(25), SimTime::from_ms(10), window).seconds());
  }
}

TEST(DarkTimes, MoreCircuitsWaitForMoreNics) {
  DarkTimes dark(prototype_device());
  double before = 0;
  for (const int changed : {1, 2, 4, 8, 24}) {
    const double mean = dark.mean_s(changed);
    EXPECT_GT(mean, before);
    EXPECT_NEAR(dark.exposed_s(changed, SimTime()), mean, 1e-6 * mean);
    // A window hides no more than itself, and a variable delay is never hidden for sure.
    const double exposed = dark.exposed_s(changed, SimTime::from_ms(5000));
    EXPECT_GE(exposed, mean - 5 - 1e-9);
    EXPECT_LT(exposed, mean);
    before = mean;
  }
  EXPECT_GT(dark.exposed_s(24, SimTime::from_seconds(dark.mean_s(24))), 0);
}

}  // namespace
}  // namespace mixnet::plan
