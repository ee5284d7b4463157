#include "report/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace mixnet::report {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Significant, KeepsFourDigitsWithoutExponent) {
  EXPECT_EQ(significant(77.96123), "77.96");
  EXPECT_EQ(significant(0.148), "0.1480");
  EXPECT_EQ(significant(0.000012345), "0.00001234");
  EXPECT_EQ(significant(1234567), "1234567");
  EXPECT_EQ(significant(-2.5), "-2.500");
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(33.4, 3), "33.4");
}

TEST(Significant, RoundsUpToOneMoreDigit) {
  EXPECT_EQ(significant(9.99996), "10.00");
  EXPECT_EQ(significant(999.96), "1000");
}

TEST(Significant, ShowsNoNumberForInfinity) {
  EXPECT_EQ(significant(kInfinity), "-");
  EXPECT_EQ(ratio_text(kInfinity), "-");
  EXPECT_EQ(percent_text(kInfinity), "-");
  EXPECT_EQ(usd_text(kInfinity), "-");
  EXPECT_EQ(usd_exact_text(-kInfinity), "-");
}

TEST(Duration, PicksTheUnit) {
  EXPECT_EQ(duration_text(SimTime::from_ms(77'960)), "77.96 s");
  EXPECT_EQ(duration_text(SimTime::from_ms(148)), "148.0 ms");
  EXPECT_EQ(duration_text(SimTime::from_us(25)), "25.00 µs");
  EXPECT_EQ(duration_text(SimTime::from_ns(3)), "3.000 ns");
  EXPECT_EQ(duration_text(SimTime::from_ps(7)), "7 ps");
  EXPECT_EQ(duration_text(SimTime()), "0 s");
  EXPECT_EQ(duration_text(SimTime::from_ms(-148)), "-148.0 ms");
}

TEST(Seconds, ForColumns) {
  EXPECT_EQ(seconds_text(SimTime::from_ms(148)), "0.1480");
  EXPECT_EQ(seconds_text(SimTime::from_ms(77'960)), "77.96");
  EXPECT_EQ(exact_seconds(SimTime::from_ms(148)), 0.148);
}

TEST(BytesText, UsesDecimalUnits) {
  EXPECT_EQ(bytes_text(Bytes(0)), "0 B");
  EXPECT_EQ(bytes_text(Bytes(999)), "999 B");
  EXPECT_EQ(bytes_text(Bytes(1'000)), "1.000 kB");
  EXPECT_EQ(bytes_text(Bytes(1'500'000'000)), "1.500 GB");
  EXPECT_EQ(bytes_text(Bytes(3'200'000'000'000)), "3.200 TB");
}

TEST(Usd, ShortAndExact) {
  EXPECT_EQ(usd_text(1'772'032), "$1.772M");
  EXPECT_EQ(usd_text(850'000), "$850.0k");
  EXPECT_EQ(usd_text(99), "$99");
  EXPECT_EQ(usd_exact_text(1'772'032), "$1,772,032");
  EXPECT_EQ(usd_exact_text(999.6), "$1,000");
  EXPECT_EQ(usd_exact_text(-1234), "-$1,234");
  EXPECT_EQ(usd_exact_text(0), "$0");
}

TEST(Ratio, ThreeDecimalsBelowTen) {
  EXPECT_EQ(ratio_text(1.0042), "1.004");
  EXPECT_EQ(ratio_text(12.3), "12.30");
  EXPECT_EQ(percent_text(0.334), "33.4 %");
  EXPECT_EQ(share_of(SimTime::from_ms(1), SimTime::from_ms(4)), 0.25);
  EXPECT_EQ(share_of(SimTime::from_ms(1), SimTime()), 0.0);
}

}  // namespace
}  // namespace mixnet::report
