#include <gtest/gtest.h>

#include <numeric>

#include "core/workload.h"
#include "sim/iteration.h"
#include "sim/iteration_test_support.h"

namespace mixnet::sim {
namespace {

SimTime cause(const FabricResult& r, SwitchCause c) {
  return r.exposed_by_cause[static_cast<std::size_t>(c)];
}

void expect_accounted(const FabricResult& r) {
  EXPECT_EQ(std::accumulate(std::begin(r.critical_path), std::end(r.critical_path), SimTime()),
            r.iteration);
  EXPECT_EQ(
      std::accumulate(std::begin(r.exposed_by_cause), std::end(r.exposed_by_cause), SimTime()),
      r.exposed_switching);
  for (const SimTime part : r.critical_path) {
    EXPECT_GE(part, SimTime());
  }
  for (const IterationSample& s : r.iterations) {
    EXPECT_GE(s.exposed_switching, SimTime());
    EXPECT_GE(s.all_to_all, SimTime());
  }
}

class ManyIterations : public ::testing::Test {
 protected:
  ManyIterations() {
    study_.routing.repeat_layers = true;
    study_.routing.first_iteration = 1;
    study_.run.iterations = 6;
    spec_ = fabric(FabricKind::kMixnet);
    spec_.mixnet.switch_time = {SimTime::from_ms(3), {}};
    options_.wiring = wiring_with_spare();
    options_.topology = mesh_topology();
  }
  // The hot expert moves to another server in every step.
  FabricResult run(double hot = 0.5) const {
    const int64_t each = study_.routing.per_micro_batch ? study_.parallelism.micro_batches : 1;
    const TestTrace trace(study_, 1, hot, 1 + study_.run.iterations * each);
    return simulate_iterations(study_, spec_, trace.view(), options_);
  }
  Study study_ = scaled_study(2, 2, 3);
  FabricSpec spec_;
  IterationOptions options_;
};

constexpr Cadence kCadences[] = {Cadence::kNever,     Cadence::kOnce,  Cadence::kEvery,
                                 Cadence::kIteration, Cadence::kStage, Cadence::kLayer};

TEST_F(ManyIterations, EveryMomentIsAccountedFor) {
  study_.run.iterations = 3;
  spec_.mixnet.relink_time = {SimTime::from_ms(20), SimTime::from_ms(40)};
  spec_.mixnet.switch_time.p99 = SimTime::from_ms(6);
  spec_.mixnet.control_delay = SimTime::from_us(300);
  for (const Cadence cadence : kCadences) {
    for (const Darkness darkness : {Darkness::kBlock, Darkness::kDetour}) {
      for (const bool per_micro_batch : {false, true}) {
        study_.routing.per_micro_batch = per_micro_batch;
        spec_.mixnet.cadence = cadence;
        spec_.mixnet.darkness = darkness;
        const FabricResult r = run();
        expect_accounted(r);
        ASSERT_EQ(r.iterations.size(), 3U);
        EXPECT_EQ(run().iteration, r.iteration);  // the same twice
        const bool moves = cadence != Cadence::kNever && cadence != Cadence::kOnce;
        EXPECT_EQ(r.switches > 0, moves) << cadence_name(cadence);
        if (!moves) {
          EXPECT_EQ(r.exposed_switching, SimTime());
        }
        if (darkness == Darkness::kBlock) {
          EXPECT_EQ(cause(r, SwitchCause::kDetour), SimTime());
        }
      }
    }
  }
}

TEST_F(ManyIterations, ConstantDemandGivesEqualIterations) {
  for (const Cadence cadence : kCadences) {
    spec_.mixnet.cadence = cadence;
    const FabricResult r = run(1.0 / 8);
    EXPECT_EQ(r.switches, 0) << cadence_name(cadence);
    for (const IterationSample& s : r.iterations) {
      EXPECT_EQ(s.iteration, r.iteration);
    }
    EXPECT_EQ(r.iteration_p50, r.iteration);
    EXPECT_EQ(r.iteration_p99, r.iteration);
  }
}

// Where nothing lasts from one iteration to the next, each is what it would be alone.
TEST_F(ManyIterations, AreSingleRunsIfNothingCarriesOver) {
  const TestTrace trace(study_, 1, 0.5, 1 + study_.run.iterations);
  for (const FabricKind kind : {FabricKind::kFatTree, FabricKind::kIdeal, FabricKind::kMixnet}) {
    for (const Cadence cadence : {Cadence::kNever, Cadence::kIteration}) {
      FabricSpec spec = fabric(kind);
      spec.mixnet = spec_.mixnet;
      spec.mixnet.cadence = cadence;
      const FabricResult all = simulate_iterations(study_, spec, trace.view(), options_);
      for (int64_t i = 0; i < study_.run.iterations; ++i) {
        Study one = study_;
        one.run.iterations = 1;
        one.routing.first_iteration += i;
        const FabricResult alone = simulate_iterations(one, spec, trace.view(), options_);
        const IterationSample& s = all.iterations[static_cast<std::size_t>(i)];
        EXPECT_EQ(s.iteration, alone.iteration) << i;
        EXPECT_EQ(s.all_to_all, alone.all_to_all) << i;
        EXPECT_EQ(s.exposed_switching, alone.exposed_switching) << i;
        EXPECT_EQ(s.switches, alone.switches) << i;
      }
    }
  }
}

TEST_F(ManyIterations, WithoutDelaysThereIsNothingToGoAround) {
  spec_.mixnet.switch_time = {};
  for (const Cadence cadence : kCadences) {
    spec_.mixnet.cadence = cadence;
    spec_.mixnet.darkness = Darkness::kBlock;
    const FabricResult block = run();
    spec_.mixnet.darkness = Darkness::kDetour;
    const FabricResult detour = run();
    EXPECT_EQ(block.exposed_switching, SimTime());
    EXPECT_EQ(detour.exposed_switching, SimTime());
    for (std::size_t i = 0; i < block.iterations.size(); ++i) {
      EXPECT_EQ(block.iterations[i].iteration, detour.iterations[i].iteration);
    }
  }
}

// One all-to-all meets the dark circuits: going around is never later than waiting, whatever the
// delay, but for what the planner does not see (headers, latency, NVLink).
TEST_F(ManyIterations, ADetourIsNotLaterThanWaiting) {
  study_ = scaled_study(1, 1, 1);
  study_.model.layers = 1;
  study_.routing.repeat_layers = true;
  study_.routing.first_iteration = 1;
  spec_.mixnet.cadence = Cadence::kIteration;
  int detours = 0;
  int waits = 0;
  for (int64_t us = 0; us < 60'000; us = us * 2 + 50) {
    spec_.mixnet.switch_time = {SimTime::from_us(us), {}};
    spec_.mixnet.darkness = Darkness::kBlock;
    const FabricResult block = run();
    spec_.mixnet.darkness = Darkness::kDetour;
    const FabricResult detour = run();
    EXPECT_LE(detour.iteration.seconds(), block.iteration.seconds() * 1.001) << us;
    detours += cause(detour, SwitchCause::kDetour) > SimTime() ? 1 : 0;
    waits += cause(detour, SwitchCause::kOcs) > SimTime() ? 1 : 0;
  }
  EXPECT_GT(detours, 0);
  EXPECT_GT(waits, 0);
}

// A dispatch that blocks waits for the controller, the switch and the NICs in full.
TEST_F(ManyIterations, ABlockedDispatchPaysEveryCause) {
  study_ = scaled_study(1, 1, 1);
  study_.model.layers = 1;
  study_.run.iterations = 1;
  study_.routing.first_iteration = 1;
  spec_.mixnet.cadence = Cadence::kLayer;
  spec_.mixnet.switch_time = {SimTime::from_ms(40), {}};
  spec_.mixnet.relink_time = {SimTime::from_ms(100), {}};
  spec_.mixnet.control_delay = SimTime::from_ms(5);
  const FabricResult r = run();
  EXPECT_EQ(r.switches, 1);
  EXPECT_EQ(cause(r, SwitchCause::kControl), SimTime::from_ms(5));
  EXPECT_EQ(cause(r, SwitchCause::kOcs), SimTime::from_ms(40));
  EXPECT_EQ(cause(r, SwitchCause::kNic), SimTime::from_ms(100));
  EXPECT_EQ(r.exposed_switching, SimTime::from_ms(145));
  EXPECT_EQ(r.switching_total, SimTime::from_ms(140));
}

TEST_F(ManyIterations, EveryKthIterationIsRewired) {
  spec_.mixnet.cadence = Cadence::kEvery;
  spec_.mixnet.every = 2;
  const FabricResult r = run();
  for (std::size_t i = 0; i < r.iterations.size(); ++i) {
    EXPECT_EQ(r.iterations[i].switches, i > 0 && i % 2 == 0 ? 1 : 0) << i;
    EXPECT_EQ(r.iterations[i].changed_circuits > 0, i > 0 && i % 2 == 0) << i;
  }
}

// NICs that need longer than an iteration: the darkness of one shows in the next ones.
TEST_F(ManyIterations, DarknessLastsIntoTheNextIteration) {
  spec_.mixnet.cadence = Cadence::kEvery;
  spec_.mixnet.every = 2;
  spec_.mixnet.darkness = Darkness::kDetour;
  spec_.mixnet.relink_time = {SimTime::from_ms(5670), {}};
  const FabricResult r = run();
  ASSERT_LT(r.iteration, SimTime::from_ms(5670));
  EXPECT_GT(cause(r, SwitchCause::kDetour), SimTime());
  EXPECT_EQ(r.iterations[1].exposed_switching, SimTime());
  EXPECT_GT(r.iterations[2].exposed_switching, SimTime());
  EXPECT_GT(r.iterations[3].exposed_switching, SimTime());
}

// With routing per micro-batch every pass of the pipeline meets another demand than the one before.
TEST_F(ManyIterations, StagesAreRewiredPerPass) {
  study_ = scaled_study(1, 1, 3);
  study_.routing.repeat_layers = true;
  study_.routing.per_micro_batch = true;
  study_.routing.first_iteration = 1;
  study_.run.iterations = 1;
  spec_.mixnet.cadence = Cadence::kStage;
  // Forward for the pass before, whose circuits are there; backward exact.
  EXPECT_EQ(run().switches, 3);
}

TEST_F(ManyIterations, ThePolicyDecidesFromThePast) {
  std::vector<CadenceQuestion> asked;
  spec_.mixnet.cadence = Cadence::kAuto;
  DemandMatrix to_last(4, 4);
  to_last(0, 3) = 1;
  const Matrix<int> other = options_.wiring.wire(to_last).circuits;
  options_.cadence = [&](const CadenceQuestion& q) {
    asked.push_back(q);
    CadenceAnswer answer;
    answer.explanation = "iteration " + std::to_string(q.iteration);
    if (q.region == 0 && q.iteration == 2) {
      answer.mode = CadenceAnswer::Mode::kNow;
      answer.circuits = other;
    } else if (q.region == 0 && q.iteration == 4) {
      answer.mode = CadenceAnswer::Mode::kLayer;
    } else if (q.region == 0 && q.iteration == 5) {
      answer.mode = CadenceAnswer::Mode::kStage;
    }
    return answer;
  };
  study_.run.iterations = 7;
  const TestTrace trace(study_, 1, 0.5, 8);
  const FabricResult r = simulate_iterations(study_, spec_, trace.view(), options_);
  expect_accounted(r);
  ASSERT_EQ(asked.size(), 4U * 7U);
  const int switches[] = {0, 0, 1, 0, 1, 1, 0};
  for (std::size_t i = 0; i < 7; ++i) {
    const CadenceQuestion& q = asked[4 * i];
    EXPECT_EQ(q.iteration, static_cast<int64_t>(i));
    ASSERT_EQ(q.seen.size(), 1U);
    ASSERT_EQ(q.seen.front().size(), 2U);  // layers of the first of two stages
    // The hot expert of step i, not of the iteration to come, is on server i mod 4.
    const DemandMatrix& seen = q.seen.front().front();
    EXPECT_GT(seen((i + 1) % 4, i % 4), 1.5 * seen((i + 1) % 4, (i + 2) % 4));
    EXPECT_EQ(q.last_iteration, i == 0 ? SimTime() : r.iterations[i - 1].iteration);
    EXPECT_GT(q.experts, SimTime());
    EXPECT_EQ(q.other > SimTime(), i > 0);
    EXPECT_LE(q.other, q.last_iteration);
    EXPECT_EQ(r.iterations[i].switches, switches[i]) << i;
  }
  EXPECT_EQ(r.cadence_explanation, "iteration 6");
}

// Circuits that a change left dark stay on a detour while the policy holds.
TEST_F(ManyIterations, HoldingKeepsTheDetour) {
  spec_.mixnet.cadence = Cadence::kAuto;
  spec_.mixnet.relink_time = {SimTime::from_ms(60'000), SimTime()};
  DemandMatrix to_last(4, 4);
  to_last(0, 3) = 1;
  const Matrix<int> other = options_.wiring.wire(to_last).circuits;
  study_.run.iterations = 4;
  const TestTrace trace(study_, 1, 0.5, 5);
  const auto exposed = [&](Darkness darkness) {
    options_.cadence = [&, darkness](const CadenceQuestion& q) {
      CadenceAnswer answer;
      if (q.iteration == 1) {
        answer.mode = CadenceAnswer::Mode::kNow;
        answer.circuits = other;
        answer.darkness = darkness;
      }
      return answer;
    };
    return simulate_iterations(study_, spec_, trace.view(), options_).exposed_switching;
  };
  EXPECT_GT(exposed(Darkness::kBlock).seconds(), 10) << "a minute in one of four iterations";
  EXPECT_LT(exposed(Darkness::kDetour).seconds(), 1);
}

TEST_F(ManyIterations, PartialChangesComeFromThePolicy) {
  spec_.mixnet.cadence = Cadence::kLayer;
  spec_.mixnet.scope = ChangeScope::kPartial;
  options_.wiring.change = [](const ChangeRequest& request) { return request.present; };
  EXPECT_EQ(run().switches, 0);
  const WiringPolicy whole = wiring_with_spare();
  options_.wiring.change = [&](const ChangeRequest& request) {
    return whole.wire(request.demand).circuits;
  };
  const FabricResult partial = run();
  spec_.mixnet.scope = ChangeScope::kWhole;
  const FabricResult all = run();
  EXPECT_GT(all.switches, 0);
  EXPECT_EQ(partial.switches, all.switches);
  EXPECT_EQ(partial.iteration, all.iteration);
}

// A prediction that comes true leaves nothing to correct; one that repeats the last step is what
// happens without a policy.
TEST_F(ManyIterations, PredictionsAreAskedForTheFirstDispatch) {
  study_.routing.per_micro_batch = true;
  spec_.mixnet.cadence = Cadence::kLayer;
  spec_.mixnet.dispatch = DispatchMode::kPredict;
  const FabricResult unchanged = run();
  const TestTrace trace(study_, 1, 0.5, 1 + 6 * 3);
  const Placement placement(study_.parallelism, study_.cluster);
  const DemandTable truth(study_.model, study_.parallelism, study_.routing, trace.view(),
                          placement);
  int64_t peeked = 0;
  options_.predict = [&](const PredictionRequest& request) {
    peeked += request.seen(request.step, request.layer).has_value() ? 1 : 0;
    peeked += request.seen(request.step + 1, 0).has_value() ? 1 : 0;
    return *request.seen(request.step - 1, request.layer);
  };
  const FabricResult last = run();
  EXPECT_EQ(peeked, 0);
  EXPECT_EQ(last.iteration, unchanged.iteration);
  EXPECT_EQ(last.switches, unchanged.switches);
  options_.predict = [&](const PredictionRequest& request) {
    return truth.assignments({request.step, request.layer, request.copy});
  };
  EXPECT_LT(run().switches, unchanged.switches);
}

}  // namespace
}  // namespace mixnet::sim
