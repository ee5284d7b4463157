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

using test_support::busy_shape;
using test_support::constant_device;
using test_support::count;
using test_support::drifting_trace;
using test_support::every_wiring;
using test_support::kScale;
using test_support::trial_of;

TEST(Cadence, ConstantDemandIsWiredForOnce) {
  CadenceTrial trial = trial_of(prototype_device());
  trial.options.per_layer = false;
  trial.options.partial = false;
  const auto trace = drifting_trace({8, 2, 1, 0, 1}, 30, busy_shape(), kScale);
  const CadenceRun run = evaluate_cadence(trace, trial);
  EXPECT_EQ(run.changes, 1);
  EXPECT_EQ(run.decisions.front().mode, CadenceMode::kHold);
  // Never before the past is as long as the future that the change needs.
  EXPECT_EQ(count(run, CadenceMode::kRewire, 0, 2), 0);
}

TEST(Cadence, AFastSwitchWiresEveryLayer) {
  const CadenceTrial trial = trial_of(constant_device(1e-5, 0));
  const auto trace = drifting_trace({8, 2, 1, 1, 7}, 12, busy_shape(), kScale);
  EXPECT_GE(count(evaluate_cadence(trace, trial), CadenceMode::kLayer, 6, 12), 6);
}

// In two steps where a few circuits pay earlier than the rest.
TEST(Cadence, WiresAlreadyRightStay) {
  CadenceTrial trial = trial_of(prototype_device());
  const auto trace = drifting_trace({8, 1, 1, 0, 5}, 20, busy_shape(), kScale);
  trial.laid = circuits_for(trial.region, summed_demand(trace[0]));
  EXPECT_EQ(evaluate_cadence(trace, trial).changes, 0);
}

TEST(Cadence, ASlowSwitchNeverWiresEveryLayer) {
  const auto trace = drifting_trace({8, 2, 1, 1, 7}, 40, busy_shape(), kScale);
  EXPECT_EQ(evaluate_cadence(trace, trial_of(prototype_device())).fine, 0);
}

// The worst that demand can do to somebody who follows it.
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
// The cheapest sequence over all wirings, every change before an iteration, all known in advance.
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
    EXPECT_EQ(d.saved_s > 0, d.mode != CadenceMode::kHold) << t;
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
