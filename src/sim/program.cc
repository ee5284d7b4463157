#include "sim/program.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::sim {
namespace {

class Builder {
 public:
  Builder(const MoeModel& model, const Parallelism& layout, int stage, const SwitchPlan& switching)
      : model_(model),
        layout_(layout),
        stage_(stage),
        layers_(stage_layers(model, layout.pp, stage)),
        switching_(switching) {}

  std::vector<Step> build() {
    if (switching_.enabled && switching_.cadence == Cadence::kIteration && has_moe()) {
      begin_switch(SwitchTarget::kStage, -1, Cadence::kIteration);
    }
    const int total = layout_.micro_batches;
    const int warm_up = std::min(layout_.pp - stage_ - 1, total);
    for (int m = 0; m < warm_up; ++m) {
      forward(m);
    }
    for (int m = warm_up; m < total; ++m) {
      forward(m);
      backward(m - warm_up);
    }
    for (int m = total - warm_up; m < total; ++m) {
      backward(m);
    }
    return std::move(steps_);
  }

 private:
  bool last_stage() const { return stage_ == layout_.pp - 1; }
  bool per(Cadence cadence) const {
    return switching_.enabled &&
           (switching_.cadence == cadence || switching_.cadence == Cadence::kAuto);
  }
  bool per_layer() const { return per(Cadence::kLayer); }
  bool has_moe() const {
    for (int i = 0; i < layers_.count; ++i) {
      if (model_.is_moe(layers_.first + i)) {
        return true;
      }
    }
    return false;
  }

  Step& add(StepKind kind, int layer) {
    steps_.push_back(
        Step{.kind = kind, .backward = backward_, .layer = layer, .micro_batch = micro_batch_});
    return steps_.back();
  }
  void compute(Activity activity, int layer) { add(StepKind::kCompute, layer).activity = activity; }
  void expert_tensor(int layer) {
    Step& step = add(StepKind::kCompute, layer);
    step.activity = Activity::kTensor;
    step.experts = true;
  }
  void begin_switch(SwitchTarget target, int layer, Cadence cadence = Cadence::kLayer) {
    Step& step = add(StepKind::kBeginSwitch, layer);
    step.target = target;
    step.cadence = cadence;
  }
  void begin_pass() {
    if (per(Cadence::kStage) && has_moe()) {
      begin_switch(SwitchTarget::kPass, -1, Cadence::kStage);
    }
  }
  void all_to_all(int layer, bool transposed) {
    if (switching_.enabled) {
      add(StepKind::kAwaitSwitch, layer).transposed = transposed;
    }
    add(StepKind::kAllToAll, layer).transposed = transposed;
  }

  void forward(int micro_batch) {
    micro_batch_ = micro_batch;
    backward_ = false;
    if (stage_ > 0) {
      add(StepKind::kReceive, -1);
    }
    begin_pass();
    for (int i = 0; i < layers_.count; ++i) {
      const int layer = layers_.first + i;
      if (model_.is_moe(layer)) {
        forward_moe(layer);
      } else {
        forward_dense(layer);
      }
    }
    if (last_stage()) {
      compute(Activity::kDense, -1);
    } else {
      add(StepKind::kSend, -1);
    }
  }

  void forward_dense(int layer) {
    compute(Activity::kAttention, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kDense, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kAddNorm, layer);
  }

  void forward_moe(int layer) {
    const bool predict = per_layer() && switching_.dispatch == DispatchMode::kPredict;
    if (predict) {
      begin_switch(SwitchTarget::kPredicted, layer);
    }
    compute(Activity::kAttention, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kGate, layer);
    if (per_layer() && switching_.dispatch == DispatchMode::kBlock) {
      begin_switch(SwitchTarget::kExact, layer);
    }
    all_to_all(layer, false);
    if (per_layer() && switching_.dispatch != DispatchMode::kBlock) {
      begin_switch(SwitchTarget::kExact, layer);
    }
    compute(Activity::kExpert, layer);
    expert_tensor(layer);
    all_to_all(layer, true);
    compute(Activity::kAddNorm, layer);
  }

  // The demand of a backward pass is that of its forward pass, so its switch starts as soon as the
  // all-to-alls before it are over: behind the attention of the layer above.
  void backward(int micro_batch) {
    micro_batch_ = micro_batch;
    backward_ = true;
    if (last_stage()) {
      compute(Activity::kDense, -1);
    } else {
      add(StepKind::kReceive, -1);
    }
    begin_pass();
    switch_for_next_moe(layers_.first + layers_.count);
    for (int layer = layers_.first + layers_.count - 1; layer >= layers_.first; --layer) {
      if (model_.is_moe(layer)) {
        backward_moe(layer);
      } else {
        backward_dense(layer);
      }
    }
    if (stage_ > 0) {
      add(StepKind::kSend, -1);
    }
  }

  void switch_for_next_moe(int above) {
    if (!per_layer()) {
      return;
    }
    for (int layer = above - 1; layer >= layers_.first; --layer) {
      if (model_.is_moe(layer)) {
        begin_switch(SwitchTarget::kExact, layer);
        return;
      }
    }
  }

  void backward_dense(int layer) {
    compute(Activity::kAddNorm, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kDense, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kAttention, layer);
  }

  void backward_moe(int layer) {
    compute(Activity::kAddNorm, layer);
    all_to_all(layer, false);  // gradients of the combine go to the experts
    expert_tensor(layer);
    compute(Activity::kExpert, layer);
    all_to_all(layer, true);  // and back to the tokens' ranks
    switch_for_next_moe(layer);
    compute(Activity::kGate, layer);
    compute(Activity::kTensor, layer);
    compute(Activity::kAttention, layer);
  }

  const MoeModel& model_;
  const Parallelism& layout_;
  int stage_;
  StageLayers layers_;
  SwitchPlan switching_;
  int micro_batch_ = -1;
  bool backward_ = false;
  std::vector<Step> steps_;
};

}  // namespace

StageLayers stage_layers(const MoeModel& model, int stages, int stage) {
  CHECK(stage >= 0 && stage < stages, "a stage of the pipeline");
  const int base = model.layers / stages;
  const int extra = model.layers % stages;
  return {stage * base + std::min(stage, extra), base + (stage < extra ? 1 : 0)};
}

int moe_index(const MoeModel& model, int layer) {
  return model.is_moe(layer) ? (layer - model.first_dense) / model.moe_every : -1;
}

std::vector<int> moe_layers_of(const MoeModel& model, int stages, int stage) {
  const StageLayers layers = stage_layers(model, stages, stage);
  std::vector<int> held;
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    if (model.is_moe(layer)) {
      held.push_back(moe_index(model, layer));
    }
  }
  return held;
}

std::vector<Step> build_program(const MoeModel& model, const Parallelism& layout, int stage,
                                const SwitchPlan& switching) {
  return Builder(model, layout, stage, switching).build();
}

}  // namespace mixnet::sim
