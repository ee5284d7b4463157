#include "cli/failure_runs.h"

#include <gtest/gtest.h>

namespace mixnet::cli {
namespace {

// Two regions of four servers, one micro-batch: small enough to run again and again.
std::vector<FabricFailures> run(const std::vector<Failure>& failures, int draws = 0,
                                double probability = kNicFailureProbability) {
  auto scenario = scenario::read_scenario(
      std::string(MIXNET_SOURCE_DIR) + "/examples/mixtral-8x22b-failures.toml",
      {"model.layers=2", "parallelism.pp=1", "parallelism.dp=2", "parallelism.micro_batches=1",
       "cluster.servers=16"});
  EXPECT_TRUE(scenario.ok()) << scenario.error().text();
  scenario->study.failures = failures;
  const auto routing = scenario::load_routing(*scenario);
  EXPECT_TRUE(routing.ok()) << routing.error().text();
  FailureOptions options;
  options.draws = draws;
  options.probability = probability;
  return run_failures(*scenario, routing->view(), options);
}

TEST(FailureRuns, NothingIsFasterForBeingBroken) {
  const auto results = run({{FailureKind::kNic, 0, FailureSide::kOptical},
                            {FailureKind::kNic, 3, FailureSide::kElectrical},
                            {FailureKind::kEpsNics, 1},
                            {FailureKind::kOcs, 2},
                            {FailureKind::kOcsPort, 2},
                            {FailureKind::kGpu, 9},
                            {FailureKind::kServer, 4}});
  ASSERT_EQ(results.size(), 2U);
  for (const FabricFailures& fabric : results) {
    ASSERT_EQ(fabric.runs.size(), 8U) << "seven, and all of them";
    for (const FailureRun& broken : fabric.runs) {
      // Shares over circuits are a heuristic: less can be a little faster, never much.
      EXPECT_GE(broken.overhead, -0.005) << fabric.fabric << " " << broken.what;
      EXPECT_LE(broken.overhead, 20) << fabric.fabric << " " << broken.what;
    }
    EXPECT_GT(fabric.runs.back().overhead, 0);
  }
}

TEST(FailureRuns, WithoutItsSwitchARegionIsElectrical) {
  const auto results = run({{FailureKind::kOcs, 0}});
  const FailureRun& mixnet = results[0].runs[0];
  EXPECT_GT(mixnet.overhead, 0.1);
  EXPECT_NEAR(results[1].runs[0].overhead, 0, 1e-9) << "a fat-tree has no optical switch";
}

TEST(FailureRuns, AFatTreeFeelsTheNicsThatMixnetUsesForItsOtherTraffic) {
  const auto results =
      run({{FailureKind::kEpsNics, 0}, {FailureKind::kNic, 0, FailureSide::kElectrical}});
  const FabricFailures& tree = results[1];
  EXPECT_GT(tree.runs[0].overhead, tree.runs[1].overhead);
  EXPECT_GT(tree.runs[1].overhead, 0);
}

TEST(FailureRuns, AGpuOutsideTheServerSlowsTensorParallelism) {
  const auto results = run({{FailureKind::kGpu, 0}});
  for (const FabricFailures& fabric : results) {
    EXPECT_GT(fabric.runs[0].overhead, 0.01) << fabric.fabric;
  }
}

TEST(FailureRuns, DrawsAreTheSameTwiceAndFollowTheProbability) {
  const auto none = run({}, 5, 0);
  EXPECT_EQ(none[0].drawn.with_failures, 0);
  EXPECT_EQ(none[0].drawn.worst_overhead, 0);
  const auto some = run({}, 6, 0.01);  // of 128 NICs: 1.3 expected per job
  EXPECT_GT(some[0].drawn.with_failures, 0);
  EXPECT_EQ(some[0].drawn.with_failures, some[1].drawn.with_failures);
  EXPECT_EQ(some[0].drawn.worst_overhead, run({}, 6, 0.01)[0].drawn.worst_overhead);
}

}  // namespace
}  // namespace mixnet::cli
