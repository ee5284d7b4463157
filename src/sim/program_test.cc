#include "sim/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace mixnet::sim {
namespace {

MoeModel model(int layers, int first_dense) {
  MoeModel m;
  m.layers = layers;
  m.first_dense = first_dense;
  m.experts = 8;
  return m;
}

Parallelism pipeline(int stages, int micro_batches) {
  Parallelism p;
  p.pp = stages;
  p.micro_batches = micro_batches;
  return p;
}

// A stage holds at most stages - stage forward passes whose backward is outstanding, every
// micro-batch goes forward once and backward once, and forward comes first.
TEST(Program, OneForwardOneBackward) {
  for (const int stages : {1, 2, 4}) {
    for (const int micro_batches : {1, 3, 8}) {
      for (int stage = 0; stage < stages; ++stage) {
        const auto steps =
            build_program(model(8, 0), pipeline(stages, micro_batches), stage, SwitchPlan());
        std::set<int> in_flight;
        int passes = 0;
        int last = -1;
        bool last_backward = false;
        for (const Step& s : steps) {
          if (s.micro_batch == last && s.backward == last_backward) {
            continue;
          }
          last = s.micro_batch;
          last_backward = s.backward;
          ++passes;
          if (s.backward) {
            EXPECT_EQ(in_flight.erase(s.micro_batch), 1u);
          } else {
            EXPECT_TRUE(in_flight.insert(s.micro_batch).second);
          }
          EXPECT_LE(static_cast<int>(in_flight.size()), stages - stage);
        }
        EXPECT_EQ(passes, 2 * micro_batches);
        EXPECT_TRUE(in_flight.empty());
      }
    }
  }
}

TEST(Program, FourAllToAllsPerMoeLayerAndMicroBatch) {
  const auto steps = build_program(model(6, 2), pipeline(1, 3), 0, SwitchPlan());
  const auto count = std::count_if(steps.begin(), steps.end(),
                                   [](const Step& s) { return s.kind == StepKind::kAllToAll; });
  EXPECT_EQ(count, 4 * 4 * 3);
  const auto dense = std::count_if(steps.begin(), steps.end(), [](const Step& s) {
    return s.activity == Activity::kDense && s.layer >= 0;
  });
  EXPECT_EQ(dense, 2 * 2 * 3);
}

TEST(Program, UnevenStagesCoverEveryLayerOnce) {
  const MoeModel m = model(61, 3);
  int next = 0;
  for (int stage = 0; stage < 16; ++stage) {
    const StageLayers layers = stage_layers(m, 16, stage);
    EXPECT_EQ(layers.first, next);
    EXPECT_GE(layers.count, 3);
    EXPECT_LE(layers.count, 4);
    next += layers.count;
  }
  EXPECT_EQ(next, 61);
}

// Two re-wirings per MoE layer, one forward and one backward (App. B.2 of the paper).
TEST(Program, TwoSwitchesPerLayerAndMicroBatch) {
  const SwitchPlan block{true, Cadence::kLayer, DispatchMode::kBlock};
  const auto steps = build_program(model(7, 0), pipeline(1, 1), 0, block);
  const auto switches = std::count_if(
      steps.begin(), steps.end(), [](const Step& s) { return s.kind == StepKind::kBeginSwitch; });
  EXPECT_EQ(switches, 14);
}

}  // namespace
}  // namespace mixnet::sim
