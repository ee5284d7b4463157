#include "plan/overlap_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/overlap_test_support.h"
#include "plan/transport_copies.h"

namespace mixnet::plan {
namespace {

using ::testing::HasSubstr;

TEST(OverlapPolicy, RowsHoldEveryChoiceFastestFirst) {
  Deployment d = h20(32);
  d.batches = {64, 1, 32};
  const std::vector<PolicyRow> rows = overlap_policy(d);
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].batch, d.batches[i]);
    EXPECT_EQ(rows[i].entries.size(), overlap_choices(d, rows[i].batch).size());
    for (std::size_t e = 0; e < rows[i].entries.size(); ++e) {
      const PolicyEntry& entry = rows[i].entries[e];
      EXPECT_EQ(entry.time.step, predict_layer(d, entry.choice, rows[i].batch).step);
      EXPECT_TRUE(e < 2 || entry.time.step >= rows[i].entries[e - 1].time.step);
      EXPECT_GE(entry.time.step.seconds() * 1.000001, rows[i].best().time.step.seconds());
    }
  }
}

TEST(OverlapPolicy, EqualChoicesKeepTheSimplestFirst) {
  // Without communication costs and launches, on one host, expert groups change nothing.
  Deployment d = without_overheads(h20(1));
  d.batches = {4};
  const PolicyRow row = overlap_policy(d).front();
  EXPECT_EQ(row.best().choice, (OverlapChoice{Transport::kNvlink, Overlap::kNone, 1}));
  EXPECT_THAT(row.why, HasSubstr("as fast"));
}

TEST(OverlapPolicy, SaysWhyTheSecondIsSlower) {
  Deployment d = h20(16);
  d.batches = {32};
  PolicyRow row = overlap_policy(d).front();
  EXPECT_THAT(row.why, HasSubstr(choice_text(row.runner_up().choice)));
  EXPECT_THAT(row.why, HasSubstr("% slower: per layer"));
  // With only the two batches to compare, the doubled weights are the reason.
  d = without_overheads(h20(1));
  d.batches = {32};
  row = overlap_policy(d).front();
  ASSERT_NE(row.best().choice.overlap, Overlap::kTwoBatch);
  EXPECT_EQ(row.entries.back().choice.overlap, Overlap::kTwoBatch);
}

TEST(OverlapPolicy, ImbalanceBecomesTheSkewOfOneHotExpert) {
  Deployment d = h20(32);
  d.imbalance = 4;
  const Deployment resolved = with_resolved_skew(d);
  EXPECT_FALSE(resolved.imbalance.has_value());
  EXPECT_DOUBLE_EQ(resolved.skew.gpu, hot_expert_skew(expert_spread(d), 4).gpu);
  d.batches = {32};
  Deployment even = h20(32);
  even.batches = {32};
  EXPECT_GT(overlap_policy(d).front().best().time.step,
            overlap_policy(even).front().best().time.step);
}

TEST(OverlapPolicy, ChoicesReadAsPeopleSayThem) {
  EXPECT_EQ(choice_text({Transport::kDirect, Overlap::kPerExpert, 4}), "mode 0, per-expert x 4");
  EXPECT_EQ(choice_text({Transport::kNvlink, Overlap::kNone, 1}), "mode 1, no overlap");
  EXPECT_EQ(choice_text({Transport::kRelayCopies, Overlap::kTwoBatch, 1}),
            "mode 2 without de-redundancy, two-batch");
}

}  // namespace
}  // namespace mixnet::plan
