#include "plan/cadence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "plan/cadence_run.h"
#include "plan/cadence_test_support.h"
#include "plan/wire_test_support.h"

namespace mixnet::plan {
namespace {

using testing::drifting_trace;
using testing::DriftingDemand;
using testing::every_wiring;
using testing::uniform_circuits;

SwitchDevice constant_device(double switch_s, double relink_s) {
  return SwitchDevice{Delay{SimTime::from_seconds(switch_s), SimTime()}, SimTime(),
                      Delay{SimTime::from_seconds(relink_s), SimTime()}};
}

CadenceTrial trial_of(const SwitchDevice& device, std::size_t n = 8, int alpha = 6, int eps = 2) {
  CadenceTrial trial;
  trial.region = Region{alpha, eps, Allocator::kSplit, 1};
  trial.device = device;
  trial.laid = uniform_circuits(trial.region, n);
  return trial;
}

// About two seconds of all-to-alls and one of everything else.
IterationLoad busy_shape() {
  IterationLoad shape;
  shape.micro_batches = 16;
  shape.other = SimTime::from_ms(1000);
  shape.iteration_window = SimTime::from_ms(20);
  shape.pass_window = SimTime::from_ms(5);
  shape.layer_switches = layer_switches(DispatchMode::kBlock, SimTime::from_ms(5),
                                        SimTime::from_ms(15), SimTime::from_ms(10));
  return shape;
}

constexpr double kScale = 0.005;

int count(const CadenceRun& run, CadenceMode mode, std::size_t from, std::size_t to) {
  int sum = 0;
  for (std::size_t t = from; t < to; ++t) {
    sum += run.decisions[t].mode == mode ? 1 : 0;
  }
  return sum;
}

// In two steps where a few circuits pay earlier than the rest.
TEST(Cadence, ConstantDemandIsWiredForOnce) {
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

TEST(Cadence, WiresAlreadyRightStay) {
  CadenceTrial trial = trial_of(prototype_device());
  const auto trace = drifting_trace({8, 1, 1, 0, 5}, 20, busy_shape(), kScale);
  trial.laid = circuits_for(trial.region, summed_demand(trace[0]));
  EXPECT_EQ(evaluate_cadence(trace, trial).changes, 0);
}

TEST(Cadence, SlowDriftAndSlowNicsHoldLong) {
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

TEST(Cadence, FastDriftAndAFastSwitchWireEveryLayer) {
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

TEST(Cadence, ASlowSwitchNeverWiresEveryLayer) {
  const auto trace = drifting_trace({8, 2, 1, 1, 7}, 40, busy_shape(), kScale);
  EXPECT_EQ(evaluate_cadence(trace, trial_of(prototype_device())).fine, 0);
}

// The worst that demand can do to somebody who follows it.
TEST(Cadence, AlternatingDemandDoesNotThrash) {
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

TEST(Cadence, SuddenChangeIsFollowedOnceIfItPays) {
  const auto before = drifting_trace({8, 1, 1.5, 0, 21}, 60, busy_shape(), kScale);
  const auto after = drifting_trace({8, 1, 1.5, 0, 22}, 60, busy_shape(), kScale);
  std::vector<IterationLoad> trace = before;
  trace.insert(trace.end(), after.begin(), after.end());
  CadenceTrial trial = trial_of(prototype_device());
  trial.options.per_layer = false;
  trial.laid = circuits_for(trial.region, summed_demand(before[0]));
  const CadenceRun run = evaluate_cadence(trace, trial);
  EXPECT_EQ(count(run, CadenceMode::kRewire, 0, 60), 0);
  // Within ten iterations, and then peace. A first step may be partial.
  EXPECT_GE(count(run, CadenceMode::kRewire, 60, 71), 1);
  EXPECT_LE(run.changes, 2);
  EXPECT_EQ(count(run, CadenceMode::kRewire, 80, 120), 0);

  // A switch that takes ten minutes is not worth it for a past of sixty iterations.
  trial.device = constant_device(600, 0);
  trial.options.detour = false;
  EXPECT_EQ(evaluate_cadence(trace, trial).changes, 0);
}

// Demand that wanders from pass to pass and is the same in all layers of a pass: the last pass
// tells more than the last iteration, and a layer has nothing of its own.
TEST(Cadence, PassesAreWiredWhereTheyDiffer) {
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

TEST(Cadence, PartialChangesAndDetoursSaveTime) {
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

// The cheapest sequence over all wirings, every change before an iteration, all known in advance.
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

TEST(Cadence, NeverBetterThanAllSequencesAndNotFarBehind) {
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
  // The controller knows nothing in advance and holds at first: less than twice the time of who
  // knows everything.
  EXPECT_LT(worst, 2);
}

TEST(Cadence, StaticBoundHoldsForEveryStaticWiring) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const CadenceTrial trial = trial_of(constant_device(0, 0), 4, 2, 1);
    const auto trace = drifting_trace({4, 2, 1, 0.3, seed}, 6, busy_shape(), 0.02);
    const CadenceHindsight h = hindsight(trace, trial);
    double best = std::numeric_limits<double>::infinity();
    every_wiring(4, 2, [&](const Matrix<int>& circuits) {
      double sum = 0;
      for (const IterationLoad& load : trace) {
        sum += all_to_all_s(trial.region, load, circuits) + load.other.seconds();
      }
      best = std::min(best, sum);
    });
    EXPECT_LE(h.static_bound_s, best * (1 + 1e-9));
    EXPECT_GE(h.static_s, best * (1 - 1e-9));
    EXPECT_LE(h.static_s, best * 1.05);
  }
}

TEST(Cadence, DecidesFromThePastOnlyAndAlwaysAlike) {
  const CadenceTrial trial = trial_of(constant_device(0.025, 0));
  auto trace = drifting_trace({8, 2, 1, 0.3, 41}, 30, busy_shape(), kScale);
  const CadenceRun run = evaluate_cadence(trace, trial);
  const CadenceRun again = evaluate_cadence(trace, trial);
  const auto other = drifting_trace({8, 2, 1, 0.3, 42}, 30, busy_shape(), kScale);
  std::copy(other.begin() + 20, other.end(), trace.begin() + 20);
  const CadenceRun changed = evaluate_cadence(trace, trial);
  for (std::size_t t = 0; t < 30; ++t) {
    EXPECT_EQ(run.decisions[t].explanation, again.decisions[t].explanation);
    if (t <= 20) {
      EXPECT_EQ(run.decisions[t].explanation, changed.decisions[t].explanation);
      EXPECT_EQ(run.decisions[t].circuits, changed.decisions[t].circuits);
    }
  }
}

TEST(Cadence, DecisionsKeepTheirPromises) {
  const CadenceTrial trial = trial_of(constant_device(0.2, 0.5), 7, 4, 1);
  const auto trace = drifting_trace({7, 2, 1, 0.2, 43}, 60, busy_shape(), kScale);
  const CadenceRun run = evaluate_cadence(trace, trial);
  Matrix<int> laid = trial.laid;
  for (std::size_t t = 1; t < run.decisions.size(); ++t) {
    const CadenceDecision& d = run.decisions[t];
    EXPECT_GE(d.saved_s, 0);
    EXPECT_FALSE(d.explanation.empty());
    EXPECT_EQ(d.explanation.back(), '.');
    if (d.mode == CadenceMode::kRewire) {
      EXPECT_EQ(d.changed, change_between(laid, d.circuits).changed());
      EXPECT_GT(d.changed, 0);
      EXPECT_GE(d.hold_for, 1);
      laid = d.circuits;
    } else if (d.mode == CadenceMode::kHold) {
      EXPECT_EQ(d.circuits, laid);
    }
    for (std::size_t i = 0; i < 7; ++i) {
      int degree = 0;
      for (std::size_t j = 0; j < 7; ++j) {
        degree += d.circuits(i, j);
        EXPECT_EQ(d.circuits(i, j), d.circuits(j, i));
      }
      EXPECT_LE(degree, 4);
    }
  }
  EXPECT_GT(run.changes, 0);
}

TEST(Cadence, NothingSeenNothingSentAndNobodyThere) {
  CadenceController fresh(Region{6, 2, Allocator::kSplit, 1}, prototype_device());
  EXPECT_EQ(fresh.decide().mode, CadenceMode::kHold);

  for (const std::size_t n : {1u, 2u, 3u}) {
    const CadenceTrial trial = trial_of(constant_device(1e-5, 0), n);
    const auto trace = drifting_trace({n, 1, 1, 0.5, 1}, 12, busy_shape(), kScale);
    EXPECT_LT(evaluate_cadence(trace, trial).total_s, 1e3) << n;
  }
  CadenceTrial trial = trial_of(prototype_device());
  auto silent = drifting_trace({8, 2, 1, 0, 1}, 6, busy_shape(), kScale);
  for (IterationLoad& load : silent) {
    load.demand.assign(2, DemandMatrix(8, 8, 0.0));
  }
  const CadenceRun run = evaluate_cadence(silent, trial);
  EXPECT_EQ(run.changes + run.fine, 0);
  EXPECT_DOUBLE_EQ(run.total_s, 6);
}

// Without electrical NICs the first circuits leave pairs without a way: no doubt is possible.
TEST(Cadence, DemandWithoutAWayIsWiredForAtOnce) {
  CadenceTrial trial = trial_of(constant_device(5, 0), 4, 1, 0);
  trial.laid = Matrix<int>(4, 4, 0);
  trial.laid(0, 1) = trial.laid(1, 0) = 1;
  IterationLoad load = busy_shape();
  load.layers = 1;
  load.demand = {DemandMatrix(4, 4, 0.0)};
  load.demand[0](0, 2) = 1;
  load.demand[0](1, 3) = 1;
  CadenceController controller(trial.region, trial.device);
  for (int t = 0; t < 2; ++t) {
    controller.observe(load, trial.laid);
  }
  const CadenceDecision decision = controller.decide();
  EXPECT_EQ(decision.mode, CadenceMode::kRewire);
  EXPECT_EQ(decision.circuits(0, 2), 1);
  EXPECT_EQ(decision.circuits(1, 3), 1);
  EXPECT_NE(decision.explanation.find("without a way"), std::string::npos);
}

TEST(Cadence, ExplainsItselfWithNumbers) {
  CadenceTrial trial = trial_of(prototype_device());
  trial.options.per_layer = false;
  const auto trace = drifting_trace({8, 1, 1.5, 0, 22}, 40, busy_shape(), kScale);
  const CadenceRun run = evaluate_cadence(trace, trial);
  const auto change =
      std::find_if(run.decisions.begin(), run.decisions.end(),
                   [](const CadenceDecision& d) { return d.mode == CadenceMode::kRewire; });
  ASSERT_NE(change, run.decisions.end());
  for (const char* part : {"of dark links per change", "demand drifts 0.0 % an iteration",
                           "re-wiring now", "is best: -"}) {
    EXPECT_NE(change->explanation.find(part), std::string::npos) << change->explanation;
  }
  EXPECT_NE(run.decisions.back().explanation.find("holding is best"), std::string::npos);
  EXPECT_NE(regret_text(run, hindsight(trace, trial)).find("best static circuits"),
            std::string::npos);
}

}  // namespace
}  // namespace mixnet::plan
