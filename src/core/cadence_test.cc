#include "core/cadence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace mixnet {
namespace {

// ConnectX-6 and the prototype's switch: the drawn delays have the mean and the percentile that
// were asked for, and none is longer than the longest.
TEST(Delay, DrawsHaveMeanAndPercentile) {
  const Delay measured[] = {{SimTime::from_ms(5670), SimTime::from_ms(6330)},
                            {SimTime::from_us(41'440), SimTime::from_ms(60)},
                            {SimTime::from_ms(1), SimTime::from_ms(10)}};
  for (const Delay& delay : measured) {
    RandomStream random(1, "delays");
    constexpr int kDraws = 200'000;
    std::vector<double> drawn;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const SimTime time = draw_delay(delay, random);
      ASSERT_LE(time, longest_delay(delay));
      drawn.push_back(time.seconds());
      sum += drawn.back();
    }
    std::sort(drawn.begin(), drawn.end());
    EXPECT_NEAR(sum / kDraws / delay.mean.seconds(), 1, 0.02);
    EXPECT_NEAR(drawn[kDraws * 99 / 100] / delay.p99.seconds(), 1, 0.02);
  }
}

TEST(Delay, ConstantOnesDrawNothing) {
  RandomStream random(1, "delays");
  RandomStream same(1, "delays");
  EXPECT_EQ(draw_delay({SimTime::from_ms(25), SimTime()}, random), SimTime::from_ms(25));
  EXPECT_EQ(draw_delay({SimTime::from_ms(25), SimTime::from_ms(25)}, random), SimTime::from_ms(25));
  EXPECT_EQ(draw_delay({}, random), SimTime());
  EXPECT_EQ(random.next(), same.next());
}

TEST(Delay, TheLargestSpreadStillHasALogNormal) {
  RandomStream random(1, "delays");
  const Delay wide{SimTime::from_ms(1), SimTime::from_us(14'900)};
  EXPECT_GT(draw_delay(wide, random), SimTime());
}

}  // namespace
}  // namespace mixnet
