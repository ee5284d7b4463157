#include "ocs/switch_latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace mixnet::ocs {
namespace {

struct Drawn {
  double mean_ms;
  double p99_ms;
  double least_ms;
};

template <typename Draw>
Drawn drawn(Draw&& draw) {
  constexpr int kDraws = 20'000;
  std::vector<double> ms;
  for (int i = 0; i < kDraws; ++i) {
    ms.push_back(std::chrono::duration<double, std::milli>(draw()).count());
  }
  std::ranges::sort(ms);
  return Drawn{std::accumulate(ms.begin(), ms.end(), 0.0) / kDraws, ms[kDraws * 99 / 100],
               ms.front()};
}

struct Measured {
  int pairs;
  double mean_ms;
  double p99_ms;
};

TEST(SwitchLatency, HasTheMeasuredMeanAndTail) {
  RandomStream random(3, "latency");
  for (const Measured& row :
       {Measured{1, 41.44, 60}, Measured{4, 42.44, 62}, Measured{16, 46.75, 68}}) {
    const Drawn result = drawn([&] { return draw_switching(SwitchingModel{}, row.pairs, random); });
    EXPECT_NEAR(result.mean_ms, row.mean_ms, 0.02 * row.mean_ms) << row.pairs;
    EXPECT_NEAR(result.p99_ms, row.p99_ms, 0.05 * row.p99_ms) << row.pairs;
    EXPECT_GE(result.least_ms, 20) << row.pairs;
  }
}

TEST(SwitchLatency, RelinksAsTheMeasuredNic) {
  RandomStream random(3, "relink");
  const Drawn result = drawn([&] { return draw_relink(RelinkModel{}, random); });
  EXPECT_NEAR(result.mean_ms, 5670, 0.01 * 5670);
  EXPECT_NEAR(result.p99_ms, 6330, 0.01 * 6330);
}

TEST(SwitchLatency, CanBeFixed) {
  RandomStream random(3, "fixed");
  EXPECT_EQ(draw_switching(SwitchingModel{.fixed = Duration(0)}, 16, random), Duration(0));
  EXPECT_EQ(draw_relink(RelinkModel{.fixed = std::chrono::seconds(1)}, random),
            std::chrono::seconds(1));
}

}  // namespace
}  // namespace mixnet::ocs
