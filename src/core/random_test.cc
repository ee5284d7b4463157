#include "core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace mixnet {
namespace {

TEST(RandomStream, SameSeedAndNameRepeat) {
  RandomStream a(7, "routing");
  RandomStream b(7, "routing");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.next(), b.next());
  }
}

TEST(RandomStream, NamesAreIndependent) {
  RandomStream a(7, "routing");
  RandomStream b(7, "failures");
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    equal += a.below(2) == b.below(2) ? 1 : 0;
  }
  EXPECT_GT(equal, 400);
  EXPECT_LT(equal, 600);
}

TEST(RandomStream, BelowCoversTheRangeEvenly) {
  RandomStream r(1, "below");
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) {
    ++seen[r.below(7)];
  }
  for (const int n : seen) {
    EXPECT_NEAR(n, 10'000, 500);
  }
}

TEST(RandomStream, NormalHasUnitVariance) {
  RandomStream r(1, "normal");
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = r.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.03);
}

TEST(RandomStream, ShuffleIsAPermutation) {
  RandomStream r(3, "shuffle");
  std::vector<int> v(50);
  std::iota(v.begin(), v.end(), 0);
  r.shuffle(std::span(v));
  std::vector<int> sorted = v;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
  }
  EXPECT_FALSE(std::is_sorted(v.begin(), v.end()));
}

}  // namespace
}  // namespace mixnet
