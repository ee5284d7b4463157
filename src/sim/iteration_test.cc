#include "sim/iteration.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/workload.h"
#include "sim/iteration_test_support.h"

namespace mixnet::sim {
namespace {

SimTime path_sum(const FabricResult& r) {
  return std::accumulate(std::begin(r.critical_path), std::end(r.critical_path), SimTime());
}

SimTime spent(const FabricResult& r, Activity a) {
  return r.critical_path[static_cast<std::size_t>(a)];
}

const FabricKind kAll[] = {FabricKind::kFatTree, FabricKind::kFatTreeOversubscribed,
                           FabricKind::kRailOptimized, FabricKind::kTopoOpt, FabricKind::kMixnet};

// One stage, one copy, one micro-batch: the iteration is the plain sum of its parts.
TEST(Iteration, IdealIsTheSumOfItsParts) {
  Study s = small_study();
  s.parallelism.micro_batches = 1;
  s.routing.repeat_layers = true;
  const TestTrace trace(s, 1, 1.0 / 8);
  const FabricResult r = simulate(s, fabric(FabricKind::kIdeal), trace.view());
  // Uniform: a server of two ranks sends 6/8 of its assignments to other servers.
  const double assignments = 2.0 * 1024 * 2;
  const double out = 2 * assignments * 6 / 8 * 2048;
  const SimTime exchange = SimTime::from_seconds(out / (8 * 12.5e9)) + SimTime::from_us(2);
  EXPECT_NEAR(r.all_to_all.seconds(), 4 * 4 * exchange.seconds(), 1e-9);
  const SimTime expert =
      compute_time(assignments * expert_flops_per_assignment(s.model), 4, s.cluster.gpu, s.compute);
  EXPECT_NEAR(spent(r, Activity::kExpert).seconds(), 4 * 3 * expert.seconds(), 1e-9);
  EXPECT_EQ(path_sum(r), r.iteration);
}

// No fabric beats the ideal network, and the critical path accounts for every picosecond.
TEST(Iteration, IdealBoundsEveryFabric) {
  for (const Study& base : {small_study(), scaled_study(2, 1, 3), scaled_study(4, 2, 6)}) {
    Study s = base;
    s.routing.repeat_layers = true;
    for (const double hot : {1.0 / 8, 0.5}) {
      const TestTrace trace(s, 1, hot);
      const SimTime bound = simulate(s, fabric(FabricKind::kIdeal), trace.view()).iteration;
      for (const FabricKind kind : kAll) {
        const FabricResult r = simulate(s, fabric(kind), trace.view());
        EXPECT_GE(r.iteration, bound) << r.name;
        EXPECT_EQ(path_sum(r), r.iteration) << r.name;
        EXPECT_GT(r.all_to_all, SimTime()) << r.name;
      }
    }
  }
}

TEST(Iteration, EqualInputsGiveEqualResults) {
  Study s = scaled_study(2, 2, 4);
  s.routing.repeat_layers = true;
  const TestTrace trace(s, 1, 0.4);
  const FabricResult a = simulate(s, fabric(FabricKind::kFatTree), trace.view());
  const FabricResult b = simulate(s, fabric(FabricKind::kFatTree), trace.view());
  EXPECT_EQ(a.iteration, b.iteration);
  EXPECT_EQ(a.spans.size(), b.spans.size());
}

// Small messages, long links and several stages and copies in a server: messages arrive late and in
// another order than they were sent.
TEST(Iteration, OddLayoutsRunToTheEnd) {
  for (const int ep : {1, 2, 4, 8}) {
    for (const int64_t latency_us : {0, 1, 20}) {
      Study s = scaled_study(4, 8 / ep, 7);
      s.parallelism.tp = 1;
      s.parallelism.ep = ep;
      s.parallelism.micro_batch_size = 1;
      s.parallelism.sequence_length = 16;
      s.cluster.servers = 4;
      s.cluster.nics_per_server = 2;
      s.routing.repeat_layers = true;
      s.network.link_latency = SimTime::from_us(latency_us);
      const TestTrace trace(s, 1, 0.5);
      const SimTime bound = simulate(s, fabric(FabricKind::kIdeal), trace.view()).iteration;
      for (const NicUse nics : {NicUse::kPooled, NicUse::kPinned}) {
        s.network.nics = nics;
        for (const FabricKind kind : {FabricKind::kFatTree, FabricKind::kFatTreeOversubscribed,
                                      FabricKind::kRailOptimized, FabricKind::kTopoOpt}) {
          const FabricResult r = simulate(s, fabric(kind), trace.view());
          EXPECT_GE(r.iteration, bound) << r.name;
          EXPECT_EQ(path_sum(r), r.iteration) << r.name;
        }
      }
    }
  }
}

// With the same host side, circuits that never move cannot beat a non-blocking tree of all NICs.
TEST(Iteration, PooledFatTreeIsAsFastAsWiredOnce) {
  Study s = scaled_study(2, 2, 4);
  s.routing.repeat_layers = true;
  s.network.nvlink_latency = SimTime();  // gathering has two more of them than pinned NICs
  for (const double hot : {1.0 / 8, 0.3, 0.6}) {
    const TestTrace trace(s, 1, hot);
    FabricSpec wired = fabric(FabricKind::kMixnet);
    wired.mixnet.cadence = Cadence::kOnce;
    const double tree = simulate(s, fabric(FabricKind::kFatTree), trace.view()).iteration.seconds();
    EXPECT_LE(tree, 1.001 * simulate(s, wired, trace.view()).iteration.seconds());
    Study pinned = s;
    pinned.network.nics = NicUse::kPinned;
    EXPECT_LE(tree,
              simulate(pinned, fabric(FabricKind::kFatTree), trace.view()).iteration.seconds());
  }
}

// With a free network and equal stages, 1F1B takes (micro-batches + stages - 1) passes.
TEST(Iteration, PipelineFillsAndDrains) {
  Study s = scaled_study(4, 1, 6);
  s.model.layers = 8;
  s.model.vocab = 0;  // no output head, so that stages are equal
  s.routing.repeat_layers = true;
  s.cluster.nic_rate = BitRate::from_gbps(1'000'000);
  s.network.link_latency = SimTime();
  s.network.nvlink_latency = SimTime();
  s.cluster.gpu.nvlink_gbytes_per_s = 1e6;
  const TestTrace trace(s, 1, 1.0 / 8);
  const SimTime all = simulate(s, fabric(FabricKind::kFatTree), trace.view()).iteration;
  Study one = scaled_study(1, 1, 1);
  one.model = s.model;
  one.model.layers = 2;
  one.routing = s.routing;
  one.cluster.nic_rate = s.cluster.nic_rate;
  one.cluster.gpu = s.cluster.gpu;
  one.network = s.network;
  const TestTrace same(one, 1, 1.0 / 8);
  const SimTime pass = simulate(one, fabric(FabricKind::kFatTree), same.view()).iteration;
  EXPECT_NEAR(all.seconds() / pass.seconds(), 6 + 4 - 1, 0.05);
}

// Copies with equal routing run alike: only the gradient all-reduce is added. (With more stages it
// would meet the last point-to-point transfers.)
TEST(Iteration, EqualCopiesRunAlike) {
  Study one = scaled_study(1, 1, 2);
  Study three = scaled_study(1, 3, 2);
  one.routing.repeat_layers = three.routing.repeat_layers = true;
  const TestTrace trace(one, 1, 0.3);
  const FabricResult a = simulate(one, fabric(FabricKind::kFatTree), trace.view());
  const FabricResult b = simulate(three, fabric(FabricKind::kFatTree), trace.view());
  EXPECT_EQ(a.all_to_all, b.all_to_all);
  EXPECT_EQ(a.iteration - spent(a, Activity::kGradient),
            b.iteration - spent(b, Activity::kGradient));
  EXPECT_GT(spent(b, Activity::kGradient), spent(a, Activity::kGradient));
}

TEST(Iteration, OversubscriptionOneIsTheFatTree) {
  Study s = scaled_study(2, 2, 2);
  s.routing.repeat_layers = true;
  const TestTrace trace(s, 1, 0.3);
  FabricSpec thin = fabric(FabricKind::kFatTreeOversubscribed);
  const SimTime full = simulate(s, fabric(FabricKind::kFatTree), trace.view()).iteration;
  EXPECT_GT(simulate(s, thin, trace.view()).iteration, full);
  thin.oversubscription = 1;
  EXPECT_EQ(simulate(s, thin, trace.view()).iteration, full);
}

TEST(Iteration, ExpertGroupInsideOneServerUsesNoNetwork) {
  Study s = small_study();
  s.parallelism.tp = 1;
  s.parallelism.dp = 4;
  s.routing.repeat_layers = true;
  const TestTrace trace(s, 1, 0.3);
  for (const FabricKind kind : kAll) {
    const FabricResult r = simulate(s, fabric(kind), trace.view());
    EXPECT_EQ(r.traffic.expert_network.count(), 0) << r.name;
    EXPECT_GT(r.traffic.expert.count(), 0) << r.name;
    EXPECT_EQ(r.switches, 0) << r.name;
  }
}

// Re-wiring whose exact cost is known: one stage, one micro-batch per pass.
class Switching : public ::testing::Test {
 protected:
  Switching() {
    study_.parallelism.micro_batches = 2;
    study_.routing.per_micro_batch = true;
    study_.routing.repeat_layers = true;
    study_.compute.measured.attention = SimTime::from_ms(78);
    study_.compute.measured.expert = SimTime::from_ms(148);
    study_.compute.measured.micro_batch_size = study_.parallelism.micro_batch_size;
    spec_ = fabric(FabricKind::kMixnet);
    spec_.mixnet.switch_time.mean = SimTime::from_ms(40);
  }
  FabricResult run() const {
    const TestTrace trace(study_, 1, 0.5, 2);
    return simulate(study_, spec_, trace.view());
  }
  Study study_ = small_study();
  FabricSpec spec_;
};

TEST_F(Switching, NeverCostsNothing) {
  spec_.mixnet.cadence = Cadence::kOnce;
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 0);
  EXPECT_EQ(r.exposed_switching, SimTime());
}

// All layers of a micro-batch have equal demand here, so the region switches once per micro-batch.
TEST_F(Switching, BlockingDispatchWaitsInFull) {
  spec_.mixnet.dispatch = DispatchMode::kBlock;
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 1);
  EXPECT_EQ(r.switching_total, SimTime::from_ms(40));
  EXPECT_EQ(r.exposed_switching, SimTime::from_ms(40));
}

TEST_F(Switching, ReuseHidesBehindExperts) {
  spec_.mixnet.dispatch = DispatchMode::kReuse;
  EXPECT_EQ(run().exposed_switching, SimTime());
  spec_.mixnet.relink_time.mean = SimTime::from_ms(5'670);
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 1);
  // Experts compute 148 ms and their part of the window is all there is.
  EXPECT_EQ(r.exposed_switching, SimTime::from_ms(40 + 5'670 - 148));
}

TEST_F(Switching, PredictionUsesWhatWasSeenLast) {
  spec_.mixnet.dispatch = DispatchMode::kPredict;
  // In the second micro-batch each of the four layers is wired for what it saw in the first, which
  // is wrong, and corrected behind the experts; only the first layer finds its wrong circuits
  // already there.
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 1 + 2 * 3);
  EXPECT_EQ(r.exposed_switching, SimTime());
}

// What was seen before the iteration had another hot expert: the region is re-wired once, from the
// start of the iteration, behind the first attention.
TEST_F(Switching, OncePerIterationFollowsTheStage) {
  study_.routing.per_micro_batch = false;
  study_.routing.first_iteration = 1;
  spec_.mixnet.cadence = Cadence::kIteration;
  spec_.mixnet.switch_time.mean = SimTime::from_ms(100);
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 1);
  EXPECT_GT(r.exposed_switching, SimTime::from_ms(100 - 78 - 2));
  EXPECT_LE(r.exposed_switching, SimTime::from_ms(100 - 78));
  spec_.mixnet.cadence = Cadence::kOnce;
  EXPECT_EQ(run().switches, 0);
}

// The measured layer of Mixtral 8x7B on H800 (attention 78, experts 148 ms at micro-batch 8): its
// compute times appear unchanged, and scale with the micro-batch.
TEST(Calibration, MeasuredLayerTimesReplaceComputedOnes) {
  Study s = small_study();
  s.routing.repeat_layers = true;
  s.parallelism.micro_batches = 1;
  s.compute.measured.attention = SimTime::from_ms(78);
  s.compute.measured.expert = SimTime::from_ms(148);
  s.compute.measured.micro_batch_size = 8;
  const TestTrace small(s, 1, 0.3);
  const FabricResult at2 = simulate(s, fabric(FabricKind::kFatTree), small.view());
  EXPECT_EQ(spent(at2, Activity::kAttention), SimTime::from_ms(4 * 3 * 78 / 4));
  s.parallelism.micro_batch_size = 8;
  const TestTrace large(s, 1, 0.3);
  const FabricResult at8 = simulate(s, fabric(FabricKind::kFatTree), large.view());
  EXPECT_EQ(spent(at8, Activity::kAttention), SimTime::from_ms(4 * 3 * 78));
  EXPECT_EQ(spent(at8, Activity::kExpert), SimTime::from_ms(4 * 3 * 148));
}

}  // namespace
}  // namespace mixnet::sim
