#include "sim/fluid_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/random.h"

namespace mixnet::sim {
namespace {

struct PlainFlow {
  std::vector<Hop> path;
  double rate = 0;
};

// Progressive filling as the textbook has it: raise all rates together, freeze, repeat.
void solve_by_brute_force(const std::vector<double>& capacity, std::vector<PlainFlow>& flows) {
  std::vector<bool> frozen(flows.size(), false);
  for (std::size_t round = 0; round < flows.size(); ++round) {
    std::vector<double> left = capacity;
    std::vector<double> weight(capacity.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Hop& hop : flows[f].path) {
        const auto l = static_cast<std::size_t>(hop.link);
        left[l] -= frozen[f] ? hop.weight * flows[f].rate : 0;
        weight[l] += frozen[f] ? 0 : hop.weight;
      }
    }
    double best = INFINITY;
    std::size_t bottleneck = 0;
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (weight[l] > 1e-12 && left[l] / weight[l] < best) {
        best = left[l] / weight[l];
        bottleneck = l;
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Hop& hop : flows[f].path) {
        if (!frozen[f] && static_cast<std::size_t>(hop.link) == bottleneck) {
          flows[f].rate = std::max(best, 0.0);
          frozen[f] = true;
        }
      }
    }
  }
}

// No link carries more than it can, and every flow has a full link on which no rate is higher:
// exactly then the rates are max-min fair.
void expect_max_min_certificate(const std::vector<double>& capacity,
                                const std::vector<PlainFlow>& flows) {
  std::vector<double> load(capacity.size(), 0);
  std::vector<double> highest(capacity.size(), 0);
  for (const PlainFlow& flow : flows) {
    for (const Hop& hop : flow.path) {
      const auto l = static_cast<std::size_t>(hop.link);
      load[l] += hop.weight * flow.rate;
      highest[l] = std::max(highest[l], flow.rate);
    }
  }
  for (std::size_t l = 0; l < capacity.size(); ++l) {
    ASSERT_LE(load[l], capacity[l] * (1 + 1e-9)) << "link " << l;
  }
  for (const PlainFlow& flow : flows) {
    bool justified = false;
    for (const Hop& hop : flow.path) {
      const auto l = static_cast<std::size_t>(hop.link);
      justified = justified ||
                  (load[l] >= capacity[l] * (1 - 1e-9) && flow.rate >= highest[l] * (1 - 1e-9));
    }
    ASSERT_TRUE(justified);
  }
}

// A random network and the traffic on it, run event by event.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed)
      : random_(seed, "fluid-engine-test"), capacity_(random_capacities()), engine_(capacity_) {}

  void run() {
    const uint64_t starts = 2 + random_.below(12);
    for (uint64_t s = 0; s < starts && !::testing::Test::HasFatalFailure(); ++s) {
      start_some(1 + random_.below(6));
      check_rates();
      run_until(engine_.now_ps() + static_cast<int64_t>(random_.below(60'000)));
    }
    run_until(kNeverPs);
    EXPECT_EQ(open_, 0);
    EXPECT_EQ(engine_.island_count(), 0U);
  }

 private:
  std::vector<double> random_capacities() {
    std::vector<double> capacity(2 + random_.below(10));
    for (double& c : capacity) {
      c = 0.001 * static_cast<double>(1 + random_.below(20));
    }
    return capacity;
  }

  void start_some(uint64_t flows) {
    const int32_t transfer = engine_.open_transfer(transfers_++, static_cast<int32_t>(flows));
    ++open_;
    for (uint64_t f = 0; f < flows; ++f) {
      std::vector<Hop> path;
      const uint64_t hops = 1 + random_.below(4);
      for (uint64_t h = 0; h < hops; ++h) {
        const double weights[] = {0.25, 1.0 / 3, 0.5, 1, 2, 5};
        path.push_back(
            Hop{static_cast<int32_t>(random_.below(capacity_.size())), weights[random_.below(6)]});
      }
      const auto bytes = static_cast<int64_t>(1 + random_.below(300));
      left_[key_] = static_cast<double>(bytes);
      engine_.add_flow(transfer, key_++, FlowSpec{path, bytes});
    }
  }

  void check_rates() {
    std::vector<PlainFlow> got;
    engine_.visit_flows([&got](const FlowState& flow, std::span<const Hop> path) {
      got.push_back(PlainFlow{{path.begin(), path.end()}, flow.rate});
    });
    std::vector<PlainFlow> want = got;
    solve_by_brute_force(capacity_, want);
    for (std::size_t f = 0; f < got.size(); ++f) {
      ASSERT_NEAR(got[f].rate, want[f].rate, 1e-9 * (want[f].rate + 1e-3));
    }
    expect_max_min_certificate(capacity_, got);
  }

  // Moves from event to event, keeping account of the bytes that the rates deliver.
  void run_until(int64_t end) {
    while (!::testing::Test::HasFatalFailure()) {
      const int64_t next = std::min(engine_.next_event_ps(), end);
      if (next == kNeverPs) {
        break;
      }
      const auto elapsed = static_cast<double>(next - engine_.now_ps());
      std::map<int64_t, double> overshoot;  // most that the last, rounded-up picosecond can add
      engine_.visit_flows([&](const FlowState& flow, std::span<const Hop>) {
        left_[flow.key] -= flow.rate * elapsed;
        overshoot[flow.key] = flow.rate;
      });
      engine_.advance(next);
      open_ -= static_cast<int64_t>(engine_.completed().size());
      engine_.completed().clear();
      std::map<int64_t, double> flying;
      engine_.visit_flows([&flying](const FlowState& flow, std::span<const Hop>) {
        flying[flow.key] = flow.remaining;
      });
      for (const auto& [key, rate] : overshoot) {
        if (flying.count(key) == 0) {  // done, so delivered: no byte lost, none invented
          ASSERT_LE(left_[key], 1.1e-3 * rate + 1e-9) << "flow " << key;
          ASSERT_GE(left_[key], -rate - 1e-9) << "flow " << key;
        } else {
          ASSERT_GT(left_[key], -1e-9) << "flow " << key << " should be done";
        }
      }
      check_rates();
      if (next == end) {
        break;
      }
    }
  }

  RandomStream random_;
  std::vector<double> capacity_;
  FluidEngine engine_;
  std::map<int64_t, double> left_;  // bytes per flow key, by our account
  int64_t transfers_ = 0;
  int64_t open_ = 0;
  int64_t key_ = 0;
};

TEST(FluidEngine, RatesAreMaxMinFairAndBytesConservedAtEveryInstant) {
  for (uint64_t seed = 1; seed <= 120 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRun(seed).run();
  }
}

std::size_t flow_count(FluidEngine& engine) {
  std::size_t count = 0;
  engine.visit_flows([&count](const FlowState&, std::span<const Hop>) { ++count; });
  return count;
}

void start_flow(FluidEngine& engine, int64_t id, std::vector<Hop> path, int64_t bytes) {
  engine.add_flow(engine.open_transfer(id, 1), id, FlowSpec{path, bytes});
}

TEST(FluidEngine, EqualFlowsShareOneSolverFlow) {
  FluidEngine engine({0.5, 0.25});
  for (int64_t i = 0; i < 1000; ++i) {
    start_flow(engine, i, {{0, 1.0}, {1, 0.5}}, 10);
  }
  start_flow(engine, 1000, {{0, 1.0}, {1, 0.5}}, 11);
  start_flow(engine, 1001, {{0, 1.0}, {1, 1.0}}, 10);
  EXPECT_EQ(flow_count(engine), 3U);
  // 0.5 of 1001 flows and 1 of the last fill link 1 at a rate of 0.25 / 501.5, before link 0.
  EXPECT_EQ(engine.next_event_ps(), 20'060);
  engine.advance(20'060);
  EXPECT_EQ(engine.completed().size(), 1001U);
  engine.completed().clear();
  EXPECT_EQ(engine.next_event_ps(), 20'062);
}

TEST(FluidEngine, IslandsMergeWhenAFlowJoinsThemAndPartLater) {
  FluidEngine engine(std::vector<double>(4, 1.0));
  start_flow(engine, 0, {{0, 1.0}}, 100);
  start_flow(engine, 1, {{1, 1.0}, {2, 1.0}}, 100);
  EXPECT_EQ(engine.island_count(), 2U);
  engine.advance(50);
  start_flow(engine, 2, {{0, 1.0}, {1, 1.0}}, 10);
  EXPECT_EQ(engine.island_count(), 1U);
  engine.advance(70);  // the joining flow is done: 20 ps at half rate
  engine.completed().clear();
  start_flow(engine, 3, {{2, 1.0}}, 1000);  // rebuilds what it touches: two parts again
  EXPECT_EQ(engine.island_count(), 2U);
}

// 64 pairs of links, one island through a short flow over all; the rest parts when it is rebuilt.
TEST(FluidEngine, AShrunkenIslandIsSplit) {
  FluidEngine engine(std::vector<double>(64, 1.0));
  std::vector<Hop> all;
  for (int32_t l = 0; l < 64; ++l) {
    all.push_back(Hop{l, 1.0});
    start_flow(engine, l, {{l, 1.0}}, l < 40 ? 20 : 1000);
  }
  start_flow(engine, 64, all, 5);
  EXPECT_EQ(engine.island_count(), 1U);
  engine.advance(engine.next_event_ps());
  engine.completed().clear();
  EXPECT_EQ(engine.island_count(), 1U);
  engine.advance(engine.next_event_ps());
  EXPECT_EQ(engine.completed().size(), 40U);
  EXPECT_EQ(engine.island_count(), 24U);
}

}  // namespace
}  // namespace mixnet::sim
