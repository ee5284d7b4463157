#include "cli/swap_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace mixnet::cli {
namespace {

using ::testing::HasSubstr;

SwapCostArguments typed(const std::string& size, const std::string& rate,
                        const std::string& token) {
  SwapCostArguments arguments;
  arguments.size = size;
  arguments.rate = rate;
  arguments.token_time = token;
  return arguments;
}

SwapCost cost_of(const SwapCostArguments& arguments, BitRate nvlink = BitRate()) {
  return swap_cost_of(arguments, nvlink).value().value();
}

// "Balancing and Beyond", section 4.2: 42 MB over NVLink and over the NICs of H20 and H800.
TEST(SwapCostOption, TimesOfThePaper) {
  const struct {
    const char* rate;
    double published_us;
  } rows[] = {{"450GB/s", 92}, {"200GB/s", 210}, {"200Gbps", 1700}, {"400Gbps", 800}};
  for (const auto& row : rows) {
    const SwapCost cost = cost_of(typed("42MB", row.rate, "1us"));
    const double us = static_cast<double>(cost.swap.ps()) / 1e6;
    EXPECT_LE(std::abs(us / row.published_us - 1), 0.05 * (1 + 1e-9)) << row.rate;
    EXPECT_EQ(cost.threshold, static_cast<int64_t>(std::ceil(us))) << row.rate;
  }
  EXPECT_EQ(cost_of(typed("42MiB", "450GB/s", "1us")).threshold, 98);
  EXPECT_EQ(cost_of(typed("42MiB", "450GB/s", "10us")).threshold, 10);
}

TEST(SwapCostOption, TrainingStateIsSixteenBytesPerParameter) {
  SwapCostArguments fp8 = typed("42MiB", "450GB/s", "1us");
  fp8.training = true;
  EXPECT_EQ(cost_of(fp8).expert.count(), int64_t{16} * 42 * 1024 * 1024);
  EXPECT_EQ(cost_of(fp8).threshold, 1566);
  SwapCostArguments bf16 = typed("84MiB", "450GB/s", "1us");
  bf16.weight_bytes = 2;
  EXPECT_EQ(cost_of(bf16).expert.count(), int64_t{84} * 1024 * 1024);
  bf16.training = true;
  EXPECT_EQ(cost_of(bf16).expert, cost_of(fp8).expert);
}

TEST(SwapCostOption, TheTopologyMayGiveTheRate) {
  const BitRate nvlink = BitRate::from_gigabytes_per_s(200);
  EXPECT_EQ(cost_of(typed("42MB", "", "1us"), nvlink).threshold, 210);
  EXPECT_EQ(cost_of(typed("42MB", "450GB/s", "1us"), nvlink).threshold, 94);
}

TEST(SwapCostOption, NothingTypedIsNoCost) {
  const auto none = swap_cost_of({}, BitRate());
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
}

TEST(SwapCostOption, ErrorsSayWhatToType) {
  const auto error = [](const SwapCostArguments& arguments) {
    const auto cost = swap_cost_of(arguments, BitRate());
    return cost.ok() ? std::string("no error") : cost.error().message;
  };
  EXPECT_THAT(error(typed("42MB", "450GB/s", "")), HasSubstr("--token-time 1us"));
  EXPECT_THAT(error(typed("", "450GB/s", "1us")), HasSubstr("--swap-size 42MiB"));
  EXPECT_THAT(error(typed("42MB", "", "1us")), HasSubstr("--swap-rate"));
  EXPECT_THAT(error(typed("42", "450GB/s", "1us")), HasSubstr("--swap-size: "));
  EXPECT_THAT(error(typed("42MB", "fast", "1us")), HasSubstr("--swap-rate: "));
  EXPECT_THAT(error(typed("42MB", "450GB/s", "1")), HasSubstr("--token-time: "));
  EXPECT_THAT(error(typed("42MB", "450GB/s", "0")), HasSubstr("more than 0"));
  EXPECT_THAT(error(typed("0", "450GB/s", "1us")), HasSubstr("1 PiB"));
  EXPECT_THAT(error(typed("1TB", "1bps", "1us")), HasSubstr("million seconds"));
  SwapCostArguments odd = typed("3B", "450GB/s", "1us");
  odd.weight_bytes = 2;
  EXPECT_THAT(error(odd), HasSubstr("--weight-bytes"));
}

}  // namespace
}  // namespace mixnet::cli
