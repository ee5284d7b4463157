#include "scenario/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mixnet::scenario {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr TokenLimits kLimits{4, 16};

std::string token_error_of(const std::string& text) {
  const Result<RoutedTokens> tokens = parse_tokens(text, "t.csv", kLimits);
  return tokens.ok() ? "no error" : tokens.error().text();
}

TEST(TokenFile, RanksAndExpertsOfEveryLine) {
  const Result<RoutedTokens> tokens =
      parse_tokens("# rank, experts\n0, 15, 4\n\n3 0 -1\n", "t.csv", kLimits);
  ASSERT_TRUE(tokens.ok()) << tokens.error().text();
  EXPECT_EQ(tokens->top_k, 2);
  EXPECT_EQ(tokens->source, (std::vector<int>{0, 3}));
  EXPECT_EQ(tokens->experts, (std::vector<int>{15, 4, 0, -1}));
}

TEST(TokenFile, ErrorsNameTheLineAndTheRange) {
  EXPECT_THAT(token_error_of("0 1\n4 1\n"), AllOf(StartsWith("t.csv:2"), HasSubstr("0 to 3")));
  EXPECT_THAT(token_error_of("0 1\n1 16\n"), AllOf(StartsWith("t.csv:2"), HasSubstr("-1 to 15")));
  EXPECT_THAT(token_error_of("0 -2\n"), StartsWith("t.csv:1"));
  EXPECT_THAT(token_error_of("0 1.5\n"), StartsWith("t.csv:1"));
  EXPECT_THAT(token_error_of("0 one\n"), HasSubstr("one"));
  EXPECT_THAT(token_error_of("0 99999999999999\n"), StartsWith("t.csv:1"));
  EXPECT_THAT(token_error_of("0 1 2\n0 1\n"), StartsWith("t.csv:2"));
  EXPECT_THAT(token_error_of("0\n"), HasSubstr("its rank, then"));
  EXPECT_THAT(token_error_of("[[0,1]] [[0,1]]"), HasSubstr("one line"));
  EXPECT_THAT(token_error_of(""), StartsWith("t.csv"));
  EXPECT_THAT(token_error_of("0 1 -1 -1\n1 2 3 2\n"),
              AllOf(StartsWith("t.csv:2"), HasSubstr("expert 2 twice")));
  const Result<RoutedTokens> other = parse_tokens("\n0 1 2\n", "t.csv", {4, 16, 3});
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().text(), AllOf(StartsWith("t.csv:2"), HasSubstr("has top-k 3")));
}

}  // namespace
}  // namespace mixnet::scenario
