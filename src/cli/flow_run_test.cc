#include "cli/flow_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "scenario/flow_sets.h"

namespace mixnet::cli {
namespace {

using scenario::FlowSet;

FlowSet stored(const char* name) {
  return scenario::read_flow_file(std::string(MIXNET_SOURCE_DIR "/tests/data/flows/") + name)
      .value();
}

FlowRunOptions payload_only() {
  FlowRunOptions options;
  options.rate = BitRate::from_gbps(100);
  return options;
}

CompletionStats stats_of(const FlowSet& set, const FlowRunOptions& options) {
  return completion_stats(run_flows(set, options).value().completion);
}

// Published values of independent solvers, to the printed digits (`half` a unit of the last).
void expect_stats(const CompletionStats& got, const CompletionStats& want, double half) {
  EXPECT_NEAR(got.min_us, want.min_us, half);
  EXPECT_NEAR(got.mean_us, want.mean_us, half);
  EXPECT_NEAR(got.p99_us, want.p99_us, half);
  EXPECT_NEAR(got.max_us, want.max_us, half);
}

TEST(FlowRun, PermutationRunsAtLineRate) {
  expect_stats(stats_of(stored("perm_128_2M.cm"), payload_only()), {160, 160, 160, 160}, 1e-9);
}

TEST(FlowRun, UniformAllToAllEndsAtThePortBound) {
  const CompletionStats got =
      stats_of(scenario::all_to_all_flows(128, Bytes(65'536)), payload_only());
  EXPECT_EQ(got.min_us, got.max_us);
  expect_stats(got, {665.846, 665.846, 665.846, 665.846}, 5e-4);
}

TEST(FlowRun, SkewedMoeOf128Hosts) {
  const CompletionStats got = stats_of(stored("moe_128_ep32_256K.cm"), payload_only());
  expect_stats(got, {81.26464, 603.562659148, 6'645.3504, 6'900.9408}, 2e-6);
}

TEST(FlowRun, SkewedMoeOf1024Hosts) {
  expect_stats(stats_of(scenario::moe_flows(32, 4), payload_only()),
               {81.265, 603.523, 6'564.086, 7'029.391}, 5.01e-4);
}

TEST(FlowRun, RandomEightOf128Hosts) {
  expect_stats(stats_of(scenario::random_flows(128, 8), payload_only()),
               {230.221, 763.369, 1'258.291, 1'258.291}, 5.01e-4);
}

TEST(FlowRun, RandomEightOf1024Hosts) {
  expect_stats(stats_of(scenario::random_flows(1024, 8), payload_only()),
               {213.861, 765.069, 1'342.177, 1'426.063}, 5.01e-4);
}

// Wire bytes and 1 us per link bring the skewed exchange within 5 % of a packet simulation (NDP,
// csg-htsim), except its fastest flow.
TEST(FlowRun, SkewedMoeIsNearThePacketSimulation) {
  FlowRunOptions options = payload_only();
  options.headers = true;
  options.latency = SimTime::from_us(1);
  const CompletionStats got = stats_of(stored("moe_128_ep32_256K.cm"), options);
  EXPECT_NEAR(got.mean_us / 642.7, 1, 0.05);
  EXPECT_NEAR(got.p99_us / 6'834.2, 1, 0.05);
  EXPECT_NEAR(got.max_us / 7'121.2, 1, 0.05);
}

FlowSet one_flow(int32_t hosts, int32_t destination, int64_t bytes, int64_t start_ps) {
  return FlowSet{hosts, {{0, destination, SimTime::from_ps(start_ps), Bytes(bytes)}}};
}

TEST(FlowRun, LatencyCountsTwoFourOrSixLinks) {
  FlowRunOptions options = payload_only();
  options.latency = SimTime::from_us(1);
  // 128 hosts: K = 8, 4 hosts per ToR, 16 per pod.
  const struct {
    int32_t destination;
    int64_t links;
  } cases[] = {{3, 2}, {4, 4}, {15, 4}, {16, 6}, {127, 6}};
  for (const auto& c : cases) {
    const FlowRun run = run_flows(one_flow(128, c.destination, 12'500, 0), options).value();
    EXPECT_EQ(run.switch_radix, 8);
    EXPECT_EQ(run.completion[0], SimTime::from_us(1 + c.links)) << c.destination;
  }
  EXPECT_EQ(run_flows(one_flow(129, 1, 1, 0), options).value().switch_radix, 10);
  EXPECT_EQ(run_flows(one_flow(1024, 1, 1, 0), options).value().switch_radix, 16);
  EXPECT_EQ(run_flows(one_flow(2, 1, 1, 0), options).value().switch_radix, 2);
}

TEST(FlowRun, HeadersAreAddedPerPacketAndTheLastIsShort) {
  FlowRunOptions options = payload_only();
  EXPECT_EQ(wire_bytes(Bytes(65'536), options), Bytes(65'536));
  options.headers = true;
  EXPECT_EQ(wire_bytes(Bytes(65'536), options), Bytes(65'536 + 16 * 64));
  EXPECT_EQ(wire_bytes(Bytes(4'150), options), Bytes(4'214));
  EXPECT_EQ(wire_bytes(Bytes(4'151), options), Bytes(4'151 + 128));
}

TEST(FlowRun, CompletionCountsFromTheStartOfAFlow) {
  // The second flow shares the destination port from 1 us on: 3/4 us left of the first, which then
  // takes twice as long.
  FlowSet set{3, {}};
  set.flows.push_back({0, 2, SimTime::from_us(1), Bytes(12'500)});
  set.flows.push_back({1, 2, SimTime(), Bytes(21'875)});
  const FlowRun run = run_flows(set, payload_only()).value();
  EXPECT_EQ(run.completion[1], SimTime::from_ns(2'500));
  EXPECT_EQ(run.completion[0], SimTime::from_ns(1'750));
  EXPECT_EQ(run.makespan, SimTime::from_ns(2'750));
}

TEST(FlowRun, OversubscriptionBindsBetweenTorsOnly) {
  FlowRunOptions options = payload_only();
  options.topology = FabricKind::kFatTreeOversubscribed;
  options.oversubscription = 2;
  FlowSet set{128, {}};
  for (int32_t h = 0; h < 4; ++h) {
    set.flows.push_back({h, h + 4, SimTime(), Bytes(12'500)});
  }
  EXPECT_EQ(run_flows(set, options).value().makespan, SimTime::from_us(2));
  EXPECT_EQ(run_flows(one_flow(128, 3, 12'500, 0), options).value().makespan, SimTime::from_us(1));
}

TEST(FlowRun, IdealHasNoProtocolCost) {
  FlowRunOptions options = payload_only();
  options.topology = FabricKind::kIdeal;
  options.latency = SimTime::from_us(1);
  options.headers = true;
  EXPECT_EQ(run_flows(one_flow(4, 3, 12'500, 0), options).value().makespan, SimTime::from_us(1));
}

TEST(FlowRun, FailsIfTheFlowsDoNotEnd) {
  FlowRunOptions options = payload_only();
  options.rate = BitRate::from_bps(1);
  EXPECT_FALSE(run_flows(one_flow(2, 1, int64_t{1} << 50, 0), options).ok());
}

}  // namespace
}  // namespace mixnet::cli
