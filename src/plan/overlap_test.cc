#include "plan/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"
#include "plan/overlap_test_support.h"

namespace mixnet::plan {
namespace {

SimTime us(int64_t n) { return SimTime::from_us(n); }

PartTimes part(int attention, int dispatch, int gemm, int combine) {
  return {us(attention),
          us(gemm),
          {SimTime(), us(dispatch), SimTime()},
          {SimTime(), us(combine), SimTime()}};
}

PartTimes random_part(RandomStream& random) {
  const auto draw = [&](uint64_t most) { return us(static_cast<int64_t>(random.below(most))); };
  return {draw(200), draw(200), {draw(30), draw(200), draw(60)}, {draw(30), draw(200), draw(60)}};
}

std::vector<PartTimes> random_parts(RandomStream& random, Overlap overlap) {
  const std::size_t n = overlap == Overlap::kNone       ? 1
                        : overlap == Overlap::kTwoBatch ? 2
                                                        : 1 + random.below(4);
  std::vector<PartTimes> parts;
  for (std::size_t i = 0; i < n; ++i) {
    parts.push_back(random_part(random));
  }
  return parts;
}

constexpr Overlap kOverlaps[] = {Overlap::kNone, Overlap::kTwoBatch, Overlap::kPerExpert};

// The same schedules as an explicit graph: each task starts when its inputs and the task before it
// on its resource are done. Times are found by relaxing edges until nothing moves.
class TaskGraph {
 public:
  int add(SimTime duration) {
    durations_.push_back(duration);
    return static_cast<int>(durations_.size()) - 1;
  }
  void after(int task, int input, SimTime from_start = SimTime::max()) {
    edges_.push_back({task, input, from_start});
  }
  SimTime end(int task) {
    starts_.resize(durations_.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (const Edge& e : edges_) {
        const auto input = static_cast<std::size_t>(e.input);
        const SimTime gap = e.from_start == SimTime::max() ? durations_[input] : e.from_start;
        SimTime& start = starts_[static_cast<std::size_t>(e.task)];
        if (starts_[input] + gap > start) {
          start = starts_[input] + gap;
          moved = true;
        }
      }
    }
    return starts_[static_cast<std::size_t>(task)] + durations_[static_cast<std::size_t>(task)];
  }

 private:
  struct Edge {
    int task;
    int input;
    SimTime from_start;
  };
  std::vector<SimTime> durations_;
  std::vector<SimTime> starts_;
  std::vector<Edge> edges_;
};

class GraphOracle {
 public:
  int gpu(SimTime duration, const std::vector<int>& inputs) {
    return on(last_gpu_, duration, inputs);
  }
  // The node that ends when both the kernel and the bytes have.
  int round(const CommunicationTime& time, const std::vector<int>& inputs) {
    const int kernel = gpu(time.kernel, inputs);
    const int bytes = on(last_net_, time.network, {});
    graph_.after(bytes, kernel, time.latency);
    const int done = graph_.add(SimTime());
    graph_.after(done, kernel);
    graph_.after(done, bytes);
    return done;
  }
  SimTime end(int task) { return graph_.end(task); }

 private:
  int on(int& last, SimTime duration, const std::vector<int>& inputs) {
    const int task = graph_.add(duration);
    for (const int input : inputs) {
      graph_.after(task, input);
    }
    if (last >= 0) {
      graph_.after(task, last);
    }
    return last = task;
  }
  TaskGraph graph_;
  int last_gpu_ = -1;
  int last_net_ = -1;
};

SimTime oracle_end(Overlap overlap, const std::vector<PartTimes>& parts, int layers) {
  GraphOracle graph;
  std::vector<std::vector<int>> ready(parts.size());
  SimTime end;
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<int> dispatched;
    std::vector<int> combined;
    int attended = -1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (overlap == Overlap::kTwoBatch || i == 0) {
        attended = graph.gpu(parts[i].attention, ready[i]);
      }
      dispatched.push_back(graph.round(parts[i].dispatch, {attended}));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      combined.push_back(
          graph.round(parts[i].combine, {graph.gpu(parts[i].gemm, {dispatched[i]})}));
    }
    end = SimTime();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      end = later_of(end, graph.end(combined[i]));
      ready[i] = overlap == Overlap::kTwoBatch ? std::vector<int>{combined[i]} : combined;
    }
  }
  return end;
}

TEST(OverlapSchedule, EndsEqualThoseOfTheTaskGraph) {
  RandomStream random(1, "schedules");
  for (int run = 0; run < 60; ++run) {
    for (const Overlap overlap : {Overlap::kTwoBatch, Overlap::kPerExpert}) {
      const std::vector<PartTimes> parts = random_parts(random, overlap);
      EXPECT_EQ(layer_ends(overlap, parts, 4).back(), oracle_end(overlap, parts, 4)) << run;
    }
  }
}

TEST(OverlapSchedule, NoOverlapIsTheSum) {
  const std::vector<PartTimes> one{part(139, 88, 69, 64)};
  EXPECT_EQ(layer_ends(Overlap::kNone, one, 3), (std::vector<SimTime>{us(360), us(720), us(1080)}));
  // One group overlaps with nothing either.
  RandomStream random(2, "schedules");
  for (int run = 0; run < 100; ++run) {
    const std::vector<PartTimes> parts{random_part(random)};
    EXPECT_EQ(layer_ends(Overlap::kPerExpert, parts, 5), layer_ends(Overlap::kNone, parts, 5));
  }
}

TEST(OverlapSchedule, NeverBelowTheBusierResource) {
  RandomStream random(3, "schedules");
  for (int run = 0; run < 500; ++run) {
    for (const Overlap overlap : kOverlaps) {
      const std::vector<PartTimes> parts = random_parts(random, overlap);
      SimTime gpu;
      SimTime network;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        gpu += parts[i].gemm + parts[i].dispatch.kernel + parts[i].combine.kernel;
        gpu += overlap == Overlap::kPerExpert && i > 0 ? SimTime() : parts[i].attention;
        network += parts[i].dispatch.network + parts[i].combine.network;
      }
      EXPECT_GE(layer_ends(overlap, parts, 6).back(), later_of(gpu, network) * 6);
    }
  }
}

TEST(OverlapSchedule, LongerPartsNeverEndEarlier) {
  RandomStream random(4, "schedules");
  for (int run = 0; run < 300; ++run) {
    for (const Overlap overlap : kOverlaps) {
      std::vector<PartTimes> parts = random_parts(random, overlap);
      const SimTime before = layer_ends(overlap, parts, 5).back();
      PartTimes& p = parts[random.below(parts.size())];
      SimTime* const fields[] = {&p.attention,       &p.gemm,           &p.dispatch.latency,
                                 &p.dispatch.kernel, &p.combine.kernel, &p.dispatch.network,
                                 &p.combine.network, &p.combine.latency};
      *fields[random.below(8)] += us(static_cast<int64_t>(random.below(50)));
      EXPECT_GE(layer_ends(overlap, parts, 5).back(), before);
    }
  }
}

TEST(OverlapSchedule, OverlapOfPartsThatSplitEvenlyNeverLoses) {
  // Without overheads, parts that halve exactly hide something or nothing.
  const PartTimes whole = part(100, 80, 60, 40);
  const PartTimes half = part(50, 40, 30, 20);
  const PartTimes group = part(100, 40, 30, 20);
  const SimTime none = layer_ends(Overlap::kNone, std::vector{whole}, 20).back();
  EXPECT_LT(layer_ends(Overlap::kTwoBatch, std::vector{half, half}, 20).back(), none);
  EXPECT_LT(layer_ends(Overlap::kPerExpert, std::vector{group, group}, 20).back(), none);
}

TEST(PredictLayer, HoldsItsBoundsForEveryChoice) {
  for (const Deployment& d : {h20(8), h20(16), h20(32), h800(64), without_overheads(h20(32))}) {
    for (const int batch : {1, 2, 7, 32, 128, 300, 4096}) {
      for (const OverlapChoice& choice : overlap_choices(d, batch)) {
        const LayerPrediction p = predict_layer(d, choice, batch);
        SCOPED_TRACE(::testing::Message() << d.gpu.name << " EP" << d.ep << " batch " << batch
                                          << " " << transport_name(choice.transport) << " "
                                          << overlap_name(choice.overlap) << choice.groups);
        EXPECT_GE(p.layer + SimTime::from_ps(1), p.bound());
        EXPECT_GE(p.step, p.layer);
        if (choice.overlap == Overlap::kNone) {
          const PartTimes t = part_times(d, choice.transport, batch, {batch, 1, 0});
          EXPECT_EQ(p.layer, t.attention + t.dispatch.alone() + t.gemm + t.combine.alone());
        }
      }
    }
  }
}

TEST(PredictLayer, MoreBandwidthNeverSlowsAnyChoice) {
  const auto faster = [](Deployment d, int what) {
    d.nic_rate = what == 0 ? d.nic_rate * 2 : d.nic_rate;
    d.gpu.hbm_gbytes_per_s *= what == 1 ? 1.5 : 1;
    d.gpu.nvlink_gbytes_per_s *= what == 2 ? 2 : 1;
    d.compute_efficiency *= what == 3 ? 1.25 : 1;
    return d;
  };
  for (const Deployment& d : {h20(16), h800(32)}) {
    for (const int batch : {2, 33, 128, 2000}) {
      for (const OverlapChoice& choice : overlap_choices(d, batch)) {
        const SimTime before = predict_layer(d, choice, batch).step;
        for (int what = 0; what < 4; ++what) {
          EXPECT_LE(predict_layer(faster(d, what), choice, batch).step, before) << what;
        }
      }
    }
  }
}

TEST(PredictLayer, MoreTokensNeverTakeLessAmongLatencyKernels) {
  const Deployment d = h20(32);
  for (const OverlapChoice& choice : overlap_choices(d, 8)) {
    SimTime before;
    for (int batch = 2; batch <= kLowLatencyTokens; batch += 2) {
      const SimTime now = predict_layer(d, choice, batch).layer;
      EXPECT_GE(now, before) << batch;
      before = now;
    }
  }
}

TEST(PartTimes, GroupsShareWhatTheWholeHas) {
  const Deployment d = without_overheads(h20(32));
  const PartTimes whole = part_times(d, Transport::kNvlink, 16, {16, 1, 0});
  SimTime gemm;
  SimTime dispatch;
  for (int g = 0; g < 4; ++g) {
    const PartTimes t = part_times(d, Transport::kNvlink, 16, {16, 4, g});
    gemm += t.gemm;
    dispatch += t.dispatch.network;
  }
  EXPECT_NEAR(gemm.us(), whole.gemm.us(), 1e-3);
  EXPECT_NEAR(dispatch.us(), whole.dispatch.network.us(), 1e-3);
}

TEST(PartTimes, MeasuredTimesReplaceAndScaleTheComputedOnes) {
  Deployment d = h20(16);
  const PartTimes model16 = part_times(d, Transport::kNvlink, 16, {16, 1, 0});
  const PartTimes model8 = part_times(d, Transport::kNvlink, 16, {8, 1, 0});
  const PartTimes relay = part_times(d, Transport::kRelay, 16, {16, 1, 0});
  MeasuredLayer row;
  row.batch = 16;
  row.attention = us(139);
  row.dispatch = us(88);
  row.gemm = us(69);
  d.measured = {row};
  const PartTimes t = part_times(d, Transport::kNvlink, 16, {16, 1, 0});
  EXPECT_NEAR(t.attention.us(), 139, 1e-5);
  EXPECT_NEAR(t.dispatch.alone().us(), 88, 1e-5);
  EXPECT_NEAR(t.gemm.us(), 69, 1e-5);
  EXPECT_EQ(t.combine.alone(), model16.combine.alone());
  // Without a row of its own, the half is scaled as the model scales it.
  const PartTimes half = part_times(d, Transport::kNvlink, 16, {8, 1, 0});
  EXPECT_NEAR(half.gemm.us(), 69 * model8.gemm.us() / model16.gemm.us(), 1e-4);
  // The measured transport says nothing about others; attention and GEMMs hold for all.
  const PartTimes other = part_times(d, Transport::kRelay, 16, {16, 1, 0});
  EXPECT_EQ(other.dispatch.alone(), relay.dispatch.alone());
  EXPECT_NEAR(other.gemm.us(), 69, 1e-5);
}

TEST(PartTimes, FewTokensLoadOnlyTheExpertsTheyPick) {
  const Deployment d = without_overheads(h20(8));
  const double one = part_times(d, Transport::kNvlink, 1, {1, 1, 0}).gemm.us();
  const double many = part_times(d, Transport::kNvlink, 32, {32, 1, 0}).gemm.us();
  // 8 tokens of 8 picks each touch 1 - (31/32)^8 of the experts.
  EXPECT_NEAR(one / many, 1 - 0.7757, 0.01);
}

TEST(PartTimes, CrossRailSlowdownSparesTheRelays) {
  Deployment d = h20(32);
  const double one = communication_us(d, Transport::kNvlink, 32);
  const double relay = communication_us(d, Transport::kRelayCopies, 32);
  d.cross_rail_slowdown = 2;
  EXPECT_GT(communication_us(d, Transport::kNvlink, 32), one);
  EXPECT_DOUBLE_EQ(communication_us(d, Transport::kRelayCopies, 32), relay);
}

TEST(OverlapChoices, OfferOnlyWhatCanBeDone) {
  // One token has no halves; a GPU with two experts has no four groups; one host relays nothing.
  for (const OverlapChoice& c : overlap_choices(h20(32), 1)) {
    EXPECT_NE(c.overlap, Overlap::kTwoBatch);
  }
  for (const OverlapChoice& c : overlap_choices(h20(128), 8)) {
    EXPECT_LE(c.groups, 2);
  }
  for (const OverlapChoice& c : overlap_choices(h20(8), 8)) {
    EXPECT_NE(transport_mode(c.transport), 2);
  }
  EXPECT_EQ(overlap_choices(h20(32), 8).size(), 16U);
  EXPECT_EQ(overlap_choices(h20(8), 8).size(), 8U);
}

}  // namespace
}  // namespace mixnet::plan
