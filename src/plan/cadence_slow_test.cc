#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "plan/cadence.h"
#include "plan/cadence_run.h"
#include "plan/cadence_test_support.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::busy_shape;
using test_support::constant_device;
using test_support::count;
using test_support::drifting_trace;
using test_support::every_wiring;
using test_support::kScale;
using test_support::trial_of;

TEST(CadenceSequences, ConstantDemandIsWiredForOnce) {
  for (const SwitchDevice& device :
       {constant_device(0.025, 0), constant_device(0.025, 3), prototype_device()}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      CadenceTrial trial = trial_of(device);
      trial.options.per_layer = false;
      const auto trace = drifting_trace({8, 2, 1, 0, seed}, 80, busy_shape(), kScale);
      const CadenceRun run = evaluate_cadence(trace, trial);
      EXPECT_GE(run.changes, 1) << seed;
      EXPECT_LE(run.changes, 2) << seed;
      EXPECT_EQ(count(run, CadenceMode::kRewire, 30, 80), 0);
      trial.options.partial = false;
      EXPECT_EQ(evaluate_cadence(trace, trial).changes, 1) << seed;
      EXPECT_EQ(run.decisions.front().mode, CadenceMode::kHold);
    }
  }
}

TEST(CadenceSequences, SlowDriftAndSlowNicsHoldLong) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    CadenceTrial trial = trial_of(prototype_device());
    trial.options.detour = false;
    const auto trace = drifting_trace({8, 1, 1, 0.03, seed}, 240, busy_shape(), kScale);
    const CadenceRun run = evaluate_cadence(trace, trial);
    EXPECT_EQ(run.fine, 0);
    EXPECT_LE(run.changes, 8) << seed;  // 30 iterations or more between changes
    const CadenceHindsight h = hindsight(trace, trial);
    EXPECT_LT(run.total_s, h.every_iteration_s);
    // Learning costs a few changes, no more.
    EXPECT_LT(regret_s(run, h), 6 * DarkTimes(trial.device).mean_s(24)) << seed;
    EXPECT_LT(run.total_s, h.held_s) << seed;
  }
}

TEST(CadenceSequences, FastDriftAndAFastSwitchWireEveryLayer) {
  for (const double step : {0.5, 1.0}) {
    const CadenceTrial trial = trial_of(constant_device(1e-5, 0));
    const auto trace = drifting_trace({8, 2, 1, step, 7}, 40, busy_shape(), kScale);
    const CadenceRun run = evaluate_cadence(trace, trial);
    EXPECT_GE(count(run, CadenceMode::kLayer, 10, 40), 30);
    EXPECT_LT(run.total_s, hindsight(trace, trial).static_s);
    EXPECT_GT(run.decisions.back().saved_s, 0);
    EXPECT_EQ(run.decisions.back().hold_for, 0);
  }
}

TEST(CadenceSequences, AlternatingDemandDoesNotThrash) {
  const auto a = drifting_trace({8, 1, 1.5, 0, 11}, 1, busy_shape(), kScale)[0];
  const auto b = drifting_trace({8, 1, 1.5, 0, 12}, 1, busy_shape(), kScale)[0];
  for (const int period : {1, 2, 5}) {
    std::vector<IterationLoad> trace;
    for (int t = 0; t < 200; ++t) {
      trace.push_back((t / period) % 2 == 0 ? a : b);
    }
    CadenceTrial trial = trial_of(prototype_device());
    trial.options.per_layer = false;
    const CadenceRun run = evaluate_cadence(trace, trial);
    EXPECT_LE(run.changes, 4) << period;
    // Between the best static circuits and following the demand or holding for ever.
    const CadenceHindsight h = hindsight(trace, trial);
    EXPECT_LT(run.total_s, 1.2 * h.static_s) << period;
    EXPECT_LT(run.total_s, h.held_s) << period;
    EXPECT_LT(run.total_s, h.every_iteration_s) << period;
  }
}

TEST(CadenceSequences, PassesAreWiredWhereTheyDiffer) {
  constexpr int kPasses = 24;
  IterationLoad shape = busy_shape();
  shape.micro_batches = kPasses;
  shape.pass_window = SimTime::from_ms(20);
  shape.layer_switches = layer_switches(DispatchMode::kBlock, SimTime(), SimTime(), SimTime());
  const auto passes = drifting_trace({8, 1, 1.5, 0.3, 31}, kPasses * 30, shape, kScale);
  std::vector<IterationLoad> trace;
  for (std::size_t t = 0; t < 30; ++t) {
    IterationLoad load = shape;
    load.layers = 3;
    for (std::size_t m = 0; m < kPasses; ++m) {
      for (int layer = 0; layer < 3; ++layer) {
        load.demand.push_back(passes[kPasses * t + m].demand[0]);
      }
    }
    trace.push_back(load);
  }
  CadenceTrial trial = trial_of(constant_device(0.015, 0));
  trial.options.per_layer = false;
  const CadenceRun run = evaluate_cadence(trace, trial);
  EXPECT_GE(count(run, CadenceMode::kStage, 10, 30), 18);
  CadenceTrial without = trial;
  without.options.per_pass = false;
  EXPECT_LT(run.total_s, evaluate_cadence(trace, without).total_s);
}

TEST(CadenceSequences, PartialChangesAndDetoursSaveTime) {
  double whole_s = 0;
  double partial_s = 0;
  int partial = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    CadenceTrial trial = trial_of(prototype_device());
    trial.options.per_layer = false;
    const auto trace = drifting_trace({8, 1, 1, 0.1, seed}, 120, busy_shape(), kScale);
    const CadenceRun run = evaluate_cadence(trace, trial);
    for (const CadenceDecision& d : run.decisions) {
      partial += d.mode == CadenceMode::kRewire && d.scope == ChangeScope::kPartial ? 1 : 0;
    }
    partial_s += run.total_s;
    trial.options.partial = false;
    trial.options.detour = false;
    whole_s += evaluate_cadence(trace, trial).total_s;
  }
  EXPECT_GT(partial, 0);
  EXPECT_LT(partial_s, whole_s);
}

double best_possible_s(const std::vector<IterationLoad>& trace, const CadenceTrial& trial) {
  const std::size_t n = trial.laid.rows();
  std::vector<Matrix<int>> wirings = {trial.laid};
  every_wiring(n, trial.region.alpha.of(0), [&](const Matrix<int>& c) { wirings.push_back(c); });
  DarkTimes dark(trial.device);
  std::vector<double> least(wirings.size(), std::numeric_limits<double>::infinity());
  least[0] = 0;
  for (const IterationLoad& load : trace) {
    std::vector<double> next(wirings.size(), std::numeric_limits<double>::infinity());
    for (std::size_t to = 0; to < wirings.size(); ++to) {
      const double time = all_to_all_s(trial.region, load, wirings[to]) + load.other.seconds();
      for (std::size_t from = 0; from < wirings.size(); ++from) {
        const CircuitChange change = change_between(wirings[from], wirings[to]);
        const double loss = change.changed() == 0 ? 0
                                                  : change_loss_s(trial.region, load, change,
                                                                  time - load.other.seconds(),
                                                                  Darkness::kDetour, dark);
        next[to] = std::min(next[to], least[from] + time + loss);
      }
    }
    least = std::move(next);
  }
  return *std::min_element(least.begin(), least.end());
}

TEST(CadenceSequences, NeverBetterThanAllSequencesAndNotFarBehind) {
  double worst = 0;
  for (const int alpha : {1, 2}) {
    for (const double switch_s : {0.01, 0.3, 3.0}) {
      for (uint64_t seed = 1; seed <= 6; ++seed) {
        CadenceTrial trial = trial_of(constant_device(switch_s, 0), 4, alpha, 1);
        trial.options.per_layer = false;
        IterationLoad shape = busy_shape();
        shape.iteration_window = SimTime();
        const double step = 0.2 * static_cast<double>(seed % 3);
        const auto trace = drifting_trace({4, 1, 1, step, seed}, 6, shape, 0.02);
        const double run_s = evaluate_cadence(trace, trial).total_s;
        const double best_s = best_possible_s(trace, trial);
        EXPECT_GE(run_s, best_s * (1 - 1e-9));
        worst = std::max(worst, run_s / best_s);
        const CadenceHindsight h = hindsight(trace, trial);
        EXPECT_GE(h.sequence_s, best_s * (1 - 1e-9));
        EXPECT_LE(h.sequence_s, h.held_s * (1 + 1e-9));
      }
    }
  }
  // The controller knows nothing in advance and holds at first: 1.27 times the time of who
  // knows everything, at worst here.
  EXPECT_LT(worst, 1.4);
}

}  // namespace
}  // namespace mixnet::plan
