#include "scenario/units_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mixnet::scenario {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(UnitsText, ReadsEveryUnitExactly) {
  EXPECT_EQ(parse_rate("100Gbps").value(), BitRate::from_gbps(100));
  EXPECT_EQ(parse_rate("1.6Tbps").value(), BitRate::from_gbps(1600));
  EXPECT_EQ(parse_rate("7bps").value().bps(), 7);
  EXPECT_EQ(parse_rate("900 GB/s").value(), BitRate::from_gigabytes_per_s(900));
  EXPECT_EQ(parse_rate("2.5Kbps").value().bps(), 2'500);
  EXPECT_EQ(parse_time("1us").value(), SimTime::from_us(1));
  EXPECT_EQ(parse_time("5.67s").value(), SimTime::from_ms(5'670));
  EXPECT_EQ(parse_time("0.001 ns").value().ps(), 1);
  EXPECT_EQ(parse_bytes("64KiB").value().count(), 65'536);
  EXPECT_EQ(parse_bytes("1.5KiB").value().count(), 1'536);
  EXPECT_EQ(parse_bytes("4150B").value().count(), 4'150);
  EXPECT_EQ(parse_bytes("2MB").value().count(), 2'000'000);
}

TEST(UnitsText, ZeroNeedsNoUnitExceptAsARate) {
  EXPECT_EQ(parse_time("0").value(), SimTime());
  EXPECT_EQ(parse_time("0us").value(), SimTime());
  EXPECT_EQ(parse_bytes("0").value(), Bytes());
  EXPECT_FALSE(parse_rate("0").ok());
  EXPECT_THAT(parse_rate("0Gbps").error().message, HasSubstr("greater than 0"));
}

TEST(UnitsText, RejectsWhatItWouldHaveToGuess) {
  for (const char* text : {"", "100", "Gbps", "-1Gbps", "+1Gbps", "1e3Gbps", ".5Gbps", "1.Gbps",
                           "1..5Gbps", "100gbps", "100 Gb/s", "100  Gbps", "100Gbps ", "nan"}) {
    const Result<BitRate> rate = parse_rate(text);
    ASSERT_FALSE(rate.ok()) << text;
    EXPECT_THAT(rate.error().message,
                AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("100Gbps"),
                      HasSubstr("bps, Kbps, Mbps, Gbps, Tbps, MB/s, GB/s, TB/s")));
  }
  EXPECT_FALSE(parse_time("1").ok());
  EXPECT_FALSE(parse_time("1 min").ok());
  EXPECT_FALSE(parse_bytes("1k").ok());
}

TEST(UnitsText, RejectsWhatDoesNotFit) {
  EXPECT_THAT(parse_time("0.5ps").error().message, HasSubstr("whole number of ps"));
  EXPECT_THAT(parse_bytes("0.3B").error().message, HasSubstr("whole number of byte"));
  EXPECT_THAT(parse_time("9223373s").error().message, HasSubstr("too large"));
  EXPECT_EQ(parse_time("9223372s").value().ps(), 9'223'372'000'000'000'000);
  EXPECT_THAT(parse_rate("99999999999999999999999bps").error().message, HasSubstr("too large"));
  EXPECT_FALSE(parse_time("0.00000000000000000000000001s").ok());
}

}  // namespace
}  // namespace mixnet::scenario
