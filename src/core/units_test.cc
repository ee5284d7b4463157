#include "core/units.h"

#include <gtest/gtest.h>

namespace mixnet {
namespace {

TEST(Units, TransferTimeIsExactAndRoundsUp) {
  EXPECT_EQ(transfer_time(Bytes(2'000'000), BitRate::from_gbps(100)), SimTime::from_us(160));
  EXPECT_EQ(transfer_time(Bytes(1), BitRate::from_bps(3)).ps(), 2'666'666'666'667);
  EXPECT_EQ(transfer_time(Bytes(0), BitRate::from_gbps(100)), SimTime());
  // 4 PB through 100 Gb/s: beyond 64-bit bit-picoseconds.
  EXPECT_EQ(transfer_time(Bytes(4'000'000'000'000'000), BitRate::from_gbps(100)),
            SimTime::from_ms(320'000'000));
}

TEST(Units, SecondsRoundToThePicosecond) {
  EXPECT_EQ(SimTime::from_seconds(5.67), SimTime::from_ms(5'670));
  EXPECT_EQ(SimTime::from_seconds(-1e-12).ps(), -1);
}

}  // namespace
}  // namespace mixnet
