#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "scenario/catalog.h"
#include "scenario/scenario.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

// Two MoE blocks, four experts, two expert-parallel ranks, eight assignments per source and step.
Scenario small_job() {
  Scenario s;
  s.study.model = builtin_catalog().find_model("mixtral-8x7b")->model;
  s.study.model.layers = 2;
  s.study.model.experts = 4;
  s.study.parallelism.ep = 2;
  s.study.parallelism.dp = 2;
  s.study.parallelism.micro_batches = 3;
  s.study.parallelism.sequence_length = 4;
  return s;
}

class LoadRouting : public ::testing::Test {
 protected:
  void SetUp() override {
    stem_ = (std::filesystem::path(::testing::TempDir()) /
             (std::string("mixnet-routing-") +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                .string();
  }
  void TearDown() override {
    for (const char* suffix : {".npy", ".json", ".txt"}) {
      std::filesystem::remove(stem_ + suffix);
    }
  }

  Scenario with_matrix(const std::string& text) {
    std::ofstream(stem_ + ".txt") << text;
    Scenario s = small_job();
    s.routing.matrix = stem_ + ".txt";
    return s;
  }
  Scenario with_trace(int64_t iterations, int64_t layers, int64_t sources) {
    std::vector<uint32_t> counts(static_cast<std::size_t>(iterations * layers * sources * 4), 2);
    const RoutingTrace trace =
        RoutingTrace::from_counts(std::move(counts), iterations, layers, sources, 4, {});
    EXPECT_TRUE(write_trace(trace, stem_ + ".npy").ok());
    Scenario s = small_job();
    s.routing.trace = stem_ + ".npy";
    return s;
  }
  void expect_refused(const Scenario& s, const char* fragment) {
    const Result<RoutingTrace> trace = load_routing(s);
    ASSERT_FALSE(trace.ok()) << fragment;
    EXPECT_THAT(trace.error().message, HasSubstr(fragment));
    EXPECT_THAT(trace.error().where, HasSubstr(stem_));
  }

  std::string stem_;
};

TEST_F(LoadRouting, TraceOfTheRightShapeIsTaken) {
  EXPECT_TRUE(load_routing(with_trace(1, 2, 2)).ok());
  EXPECT_TRUE(load_routing(with_trace(1, 2, 4)).ok());  // dp * ep sources
  Scenario s = with_trace(4, 2, 2);
  s.study.routing.per_micro_batch = true;
  s.study.routing.first_iteration = 1;
  EXPECT_TRUE(load_routing(s).ok());
}

TEST_F(LoadRouting, NothingIsRepeatedUnlessTheScenarioSaysSo) {
  Scenario layers = with_trace(1, 1, 2);
  expect_refused(layers, "`repeat_layers = true`");
  layers.study.routing.repeat_layers = true;
  EXPECT_TRUE(load_routing(layers).ok());
  Scenario steps = with_trace(2, 2, 2);
  steps.study.routing.per_micro_batch = true;
  expect_refused(steps, "2 iterations");
  Scenario late = with_trace(2, 2, 2);
  late.study.routing.first_iteration = 2;
  expect_refused(late, "`first_iteration = 2`");
}

TEST_F(LoadRouting, ShapesThatDoNotFitAreRefused) {
  expect_refused(with_trace(1, 2, 3), "3 sources");
  Scenario experts = with_trace(1, 2, 2);
  experts.study.model.experts = 8;
  expect_refused(experts, "4 experts");
}

TEST_F(LoadRouting, RowsAreExactUnlessTheyAreWeights) {
  Scenario s = with_matrix("1 2 3 2\n2 2 2 2\n");
  s.study.routing.repeat_layers = true;
  EXPECT_TRUE(load_routing(s).ok());
  s = with_matrix("1 2 3 2\n2 2 2 3\n");
  s.study.routing.repeat_layers = true;
  expect_refused(s, "source 1 sends 9 assignments");
  s.study.routing.counts_are_weights = true;
  EXPECT_TRUE(load_routing(s).ok());
  s = with_matrix("1 2 3 2\n0 0 0 0\n");
  s.study.routing.repeat_layers = true;
  s.study.routing.counts_are_weights = true;
  expect_refused(s, "source 1 sends nothing");
}

TEST_F(LoadRouting, MissingFileIsNamed) {
  Scenario s = small_job();
  s.routing.trace = stem_ + ".npy";
  EXPECT_FALSE(load_routing(s).ok());
  s.routing.trace.clear();
  s.routing.matrix = stem_ + ".txt";
  EXPECT_FALSE(load_routing(s).ok());
}

TEST_F(LoadRouting, EveryExampleLoads) {
  const std::string folder = std::string(MIXNET_SOURCE_DIR) + "/examples";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    // Files of other kinds (a live region, a deployment) have tests of their own.
    if (entry.path().extension() != ".toml" ||
        read_text_file(entry.path().string()).value().find("[[fabric]]") == std::string::npos) {
      continue;
    }
    const Result<Scenario> s = read_scenario(entry.path().string());
    ASSERT_TRUE(s.ok()) << s.error().text();
    const Result<RoutingTrace> trace = load_routing(*s);
    ASSERT_TRUE(trace.ok()) << entry.path() << ": " << trace.error().text();
    EXPECT_EQ(trace->view().experts, s->study.model.experts);
    EXPECT_EQ(trace->view().sources, s->study.parallelism.ep);
  }
}

// A run takes as many iterations from the trace as it simulates, times its micro-batches if those
// have routing of their own.
TEST_F(LoadRouting, ARunNeedsItsIterations) {
  Scenario s = with_trace(7, 2, 2);
  s.study.routing.first_iteration = 1;
  s.study.run.iterations = 6;
  EXPECT_TRUE(load_routing(s).ok());
  s.study.run.iterations = 7;
  expect_refused(s, "`iterations = 7` of [run] needs 8");
  s.study.routing.per_micro_batch = true;
  s.study.run.iterations = 2;
  EXPECT_TRUE(load_routing(s).ok());
  s.study.run.iterations = 3;
  expect_refused(s, "`iterations = 3` of [run] and one per micro-batch (3) needs 10");
}

}  // namespace
}  // namespace mixnet::scenario
