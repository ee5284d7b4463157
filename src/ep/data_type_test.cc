#include "ep/data_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/random.h"

namespace mixnet::ep {
namespace {

bool is_nan(Bf16 value) { return (value & 0x7fff) > 0x7f80; }

TEST(DataType, EveryBf16ComesBackFromSinglePrecision) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto value = static_cast<Bf16>(bits);
    const Bf16 back = to_bf16(to_fp32(value));
    if (is_nan(value)) {
      ASSERT_TRUE(is_nan(back) && std::isnan(to_fp32(value))) << bits;
      ASSERT_EQ(back, value | 0x40) << "quiet, otherwise the same";
    } else {
      ASSERT_EQ(back, value) << bits;
    }
  }
}

// Of two neighbours: below, at and above the middle between them.
TEST(DataType, RoundsToTheNearestTiesToEven) {
  for (uint32_t bits = 0; bits < 0xffff; ++bits) {
    const auto lower = static_cast<Bf16>(bits);
    const auto upper = static_cast<Bf16>(bits + 1);
    if (is_nan(lower) || is_nan(upper) || (lower & 0x7fff) == 0x7f80 || upper == 0x8000) {
      continue;
    }
    const auto at_bits = [&](uint32_t low) { return std::bit_cast<float>(bits << 16 | low); };
    ASSERT_EQ(to_bf16(at_bits(0x0001)), lower) << bits;
    ASSERT_EQ(to_bf16(at_bits(0x7fff)), lower) << bits;
    ASSERT_EQ(to_bf16(at_bits(0x8000)), bits % 2 == 0 ? lower : upper) << bits;
    ASSERT_EQ(to_bf16(at_bits(0x8001)), upper) << bits;
    ASSERT_EQ(to_bf16(at_bits(0xffff)), upper) << bits;
  }
}

TEST(DataType, NoNanBecomesInfinityOrANumber) {
  RandomStream random(1, "nan");
  for (int run = 0; run < 100'000; ++run) {
    const auto payload = static_cast<uint32_t>(random.below(0x7fffff) + 1);
    for (const uint32_t sign : {0u, 0x80000000u}) {
      ASSERT_TRUE(is_nan(to_bf16(std::bit_cast<float>(sign | 0x7f800000u | payload)))) << payload;
    }
  }
}

TEST(DataType, LargeNumbersRoundToInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_fp32(to_bf16(std::numeric_limits<float>::max())), infinity);
  EXPECT_EQ(to_fp32(to_bf16(-std::numeric_limits<float>::max())), -infinity);
  EXPECT_EQ(to_bf16(infinity), 0x7f80);
  EXPECT_EQ(to_bf16(-infinity), 0xff80);
  EXPECT_EQ(to_bf16(-0.0F), 0x8000);
}

}  // namespace
}  // namespace mixnet::ep
