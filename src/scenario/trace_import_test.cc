#include "scenario/trace_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scenario/expert_counts.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::mixnet::test_support::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The routing matrix of the released simulator: row = source rank, column = expert, tokens.
constexpr const char* kPublishedMatrix =
    "9810 5338 1231 3042 4452 2004 841 6050\n"
    "9278 6282 839 3722 3821 2903 909 5014\n"
    "10684 5165 1044 2634 4344 3333 675 4889\n"
    "10897 5629 1086 2114 2762 3463 1059 5758\n"
    "8684 5666 1046 3955 4334 2952 944 5187\n"
    "8361 5908 777 3043 3984 3422 897 6376\n"
    "10208 5507 1117 4148 3967 3119 904 3798\n"
    "9781 5211 902 3343 4289 2839 1008 5395\n";

const std::string kHeader = std::string(kExpertCountsHeader) + "\n";
const std::string kCounts = "# from somewhere\n" + kHeader +
                            "big,news,7,10,1,2,3,4\n"
                            "big,news,0,10,4,3,2,1\n"
                            "small,news,0,6,6,0\n"
                            "big,code,0,20,5,5,5,5\n"
                            "big,code,7,8,2,2,2,2\n";

Result<RoutingTrace> imported(std::string_view text, const ImportOptions& options = {}) {
  return import_text(text, "data/in.txt", options);
}

std::string problem(std::string_view text, const ImportOptions& options = {}) {
  const Result<RoutingTrace> trace = imported(text, options);
  return trace ? "accepted" : trace.error().text();
}

TEST(TraceImport, PublishedMatrixInBothSpellings) {
  std::string bracketed = "[[";
  for (const char c : std::string(kPublishedMatrix)) {
    bracketed += c == '\n' ? "],[" : std::string(1, c == ' ' ? ',' : c);
  }
  bracketed.replace(bracketed.size() - 2, 2, "]");
  for (const std::string& text : {std::string(kPublishedMatrix), bracketed}) {
    const Result<RoutingTrace> trace = imported(text);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_EQ(trace->shape(), (TraceShape{1, 1, 8, 8}));
    std::vector<int64_t> columns(8);
    for (int64_t source = 0; source < 8; ++source) {
      const auto row = trace->view().row(0, 0, source);
      int64_t sum = 0;
      for (std::size_t e = 0; e < 8; ++e) {
        columns[e] += row[e];
        sum += row[e];
      }
      EXPECT_EQ(sum, 32768) << "sequence 4096 x micro-batch 8";
    }
    EXPECT_THAT(columns, ElementsAre(77703, 44706, 8042, 26001, 31953, 24035, 7237, 42467));
    EXPECT_EQ(trace->info().origin, "imported from in.txt: matrix text");
  }
}

TEST(TraceImport, SourcesNeedNotEqualExperts) {
  const Result<RoutingTrace> trace = imported("1 2 3\n4 5 6\n");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->shape(), (TraceShape{1, 1, 2, 3}));
  EXPECT_THAT(trace->view().row(0, 0, 1), ElementsAre(4, 5, 6));
}

TEST(TraceImport, SeveralMatricesAreLayersOrIterations) {
  const char* text = "[[1,2],[3,4]]\n[[5,6],[7,8]]\n[[9,10],[11,12]]\n";
  const Result<RoutingTrace> layers = imported(text);
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->shape(), (TraceShape{1, 3, 2, 2}));
  EXPECT_THAT(layers->view().row(0, 2, 0), ElementsAre(9, 10));
  const Result<RoutingTrace> iterations = imported(text, {.matrices = MatricesAre::kIterations});
  ASSERT_TRUE(iterations);
  EXPECT_EQ(iterations->shape(), (TraceShape{3, 1, 2, 2}));
  EXPECT_THAT(iterations->view().row(1, 0, 1), ElementsAre(7, 8));
}

TEST(TraceImport, RefusesBadMatrices) {
  EXPECT_THAT(problem(""), HasSubstr("data/in.txt: there is no matrix"));
  EXPECT_THAT(problem("1 2\n3\n"), HasSubstr("data/in.txt:2: this row has 1"));
  EXPECT_THAT(problem("1 2.5\n"), HasSubstr("data/in.txt:1: \"2.5\" must be an integer"));
  EXPECT_THAT(problem("1 2e3\n"), HasSubstr("must be an integer"));
  EXPECT_THAT(problem("1\n-2\n"), HasSubstr("data/in.txt:2: \"-2\" is negative"));
  EXPECT_THAT(problem("nan\n"), HasSubstr("data/in.txt:1: \"nan\" is not a number"));
  EXPECT_THAT(problem("4294967296\n"), HasSubstr("0 to 4294967295"));
  EXPECT_EQ(problem("4294967295\n"), "accepted");
  EXPECT_THAT(problem("[[1,2],[3,4]]\n[[1],[2]]"),
              HasSubstr("data/in.txt:2: this matrix is 2 x 1, the first one 2 x 2"));
  EXPECT_THAT(problem("1 2", {.format = ImportFormat::kBracketed}), HasSubstr("as matrix"));
  EXPECT_THAT(problem("[[1]]", {.format = ImportFormat::kMatrix}), HasSubstr("as bracketed"));
}

TEST(TraceImport, TopKIsCheckedAgainstTheCounts) {
  EXPECT_EQ(problem("4 4\n2 2\n", {.top_k = 2}), "accepted");
  EXPECT_EQ(imported("4 4\n", {.top_k = 2})->info().top_k, 2);
  EXPECT_THAT(problem("4 4\n5 3\n", {.top_k = 2}), HasSubstr("does not fit source 1 of layer 0"));
  EXPECT_THAT(problem("4 3\n", {.top_k = 2}), HasSubstr("3.5 tokens"));
  EXPECT_THAT(problem("4 4\n", {.top_k = 3}), HasSubstr("1 to 2"));
  EXPECT_THAT(problem("4 4\n", {.top_k = -1}), HasSubstr("out of range"));
}

TEST(TraceImport, ExpertCountsOfOneModel) {
  const Result<RoutingTrace> trace = imported(kCounts, {.model = "big"});
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->shape(), (TraceShape{1, 2, 2, 4}));
  EXPECT_THAT(trace->view().row(0, 0, 0), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(trace->view().row(0, 1, 0), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(trace->view().row(0, 1, 1), ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(trace->info().model, "big");
  EXPECT_EQ(trace->info().source_kind, "corpus: news, code");
  EXPECT_THAT(trace->info().origin, HasSubstr("layers 0, 7"));
  EXPECT_EQ(imported(kHeader + "m,c,3,1,1\n")->info().model, "m") << "the only model is enough";
}

TEST(TraceImport, RefusesBadExpertCounts) {
  const auto with = [](const std::string& rows) { return problem(kHeader + rows); };
  EXPECT_THAT(problem(kCounts), HasSubstr("choose one of its models: big, small"));
  EXPECT_THAT(problem(kCounts, {.model = "tiny"}), HasSubstr("big, small"));
  EXPECT_THAT(with(""), HasSubstr("no rows"));
  EXPECT_THAT(with("m,c,0\n"), HasSubstr("in.txt:2: 3 values; a row is model,corpus"));
  EXPECT_THAT(with("m,c,x,1,1\n"), HasSubstr("in.txt:2: layer = \"x\""));
  EXPECT_THAT(with("m,c,0,-1,1\n"), HasSubstr("total_assignments = \"-1\""));
  EXPECT_THAT(with("m,c,0,3,1,1\n"), HasSubstr("in.txt:2: the counts sum to 2, but"));
  EXPECT_THAT(with("m,c,0,1,1,\n"), HasSubstr("in.txt:2: \"\" is not a number"));
  EXPECT_THAT(with("m,c,0,1,1\nm,d,0,2,1,1\n"), HasSubstr("in.txt:3: this row has 2 counts"));
  EXPECT_THAT(with("m,c,0,1,1\nm,c,0,1,1\n"), HasSubstr("in.txt:3: corpus \"c\", layer 0 appears"));
  EXPECT_THAT(with("m,c,0,1,1\nm,d,1,1,1\n"), HasSubstr("no row for corpus \"d\", layer 0"));
  EXPECT_THAT(problem("1 2\n", {.format = ImportFormat::kExpertCounts}),
              HasSubstr("the first line must be model,corpus"));
}

TEST(TraceImport, FormatNames) {
  EXPECT_EQ(*parse_import_format("expert-counts"), ImportFormat::kExpertCounts);
  EXPECT_THAT(parse_import_format("csv").error().message, HasSubstr("expert-counts"));
}

TEST(TraceImport, RoundTripThroughAFile) {
  const TemporaryDirectory directory;
  const Result<RoutingTrace> before =
      import_trace(directory.write("counts.csv", kCounts), {.model = "small"});
  ASSERT_TRUE(before) << before.error().text();
  ASSERT_TRUE(write_trace(*before, directory.file("t.npy")));
  const Result<RoutingTrace> after = RoutingTrace::map(directory.file("t.npy"));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->info(), before->info());
  EXPECT_THAT(after->view().row(0, 0, 0), ElementsAre(6, 0));
  EXPECT_THAT(import_trace(directory.file("none.csv"), {}).error().text(),
              HasSubstr("none.csv: cannot read"));
}

}  // namespace
}  // namespace mixnet::scenario
