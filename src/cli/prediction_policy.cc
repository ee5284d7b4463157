#include "cli/prediction_policy.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.h"
#include "plan/predict.h"
#include "sim/program.h"

namespace mixnet::cli {
namespace {

// Of one stage of one copy.
class StagePredictor {
 public:
  StagePredictor(const FabricSpec& spec, const Study& study, std::vector<int> layers)
      : layers_(std::move(layers)),
        experts_(static_cast<std::size_t>(study.model.experts)),
        // Known before any gate has run. The reader has checked or scaled every row to it.
        row_sums_(
            static_cast<std::size_t>(study.parallelism.ep),
            static_cast<double>(study.parallelism.tokens_per_micro_batch()) * study.model.top_k),
        steps_kept_(study.routing.per_micro_batch ? study.parallelism.micro_batches : 1),
        last_(layers_.size(), DemandMatrix(row_sums_.size(), experts_)) {
    predictor_ = plan::make_predictor(
                     predictor_name(spec.mixnet.predictor),
                     run_predictor_options(static_cast<int>(layers_.size()), study.model.experts))
                     .value();
  }

  DemandMatrix demand(const sim::PredictionRequest& request) {
    const auto layer = static_cast<std::size_t>(
        std::find(layers_.begin(), layers_.end(), request.layer) - layers_.begin());
    const auto known = answered_.find({request.step, layer});
    if (known != answered_.end()) {
      return known->second;
    }
    CHECK(request.step >= next_, "predictions are asked for in order of steps");
    next_ = std::max(next_, request.step - kPredictorHistory);
    for (; next_ < request.step; ++next_) {
      observe(request.seen);
    }
    Matrix<double> loads(layers_.size(), experts_);
    for (std::size_t l = 0; l < layer; ++l) {
      add_load(request.seen(request.step, layers_[l]), loads, l);
    }
    const std::vector<double> load = predictor_->predict(static_cast<int>(layer), loads);
    // Regions with failures ask on their own for what whole ones have asked already, perhaps when
    // those are at a later micro-batch of the same iteration.
    answered_.erase(answered_.begin(), answered_.lower_bound({request.step - steps_kept_, 0}));
    return answered_
        .emplace(std::pair(request.step, layer),
                 plan::predicted_demand(last_[layer], load, row_sums_))
        .first->second;
  }

 private:
  using Seen = std::function<std::optional<DemandMatrix>(int64_t, int64_t)>;

  static void add_load(const std::optional<DemandMatrix>& demand, Matrix<double>& loads,
                       std::size_t layer) {
    if (!demand) {
      return;
    }
    for (std::size_t s = 0; s < demand->rows(); ++s) {
      for (std::size_t e = 0; e < demand->cols(); ++e) {
        loads(layer, e) += (*demand)(s, e);
      }
    }
  }

  // What step `next_` turned out to be.
  void observe(const Seen& seen) {
    Matrix<double> loads(layers_.size(), experts_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      std::optional<DemandMatrix> demand = seen(next_, layers_[l]);
      add_load(demand, loads, l);
      // A layer without tokens says nothing about who asks whom.
      if (!plan::normalized_load(loads.row(l)).empty()) {
        last_[l] = *std::move(demand);
      }
    }
    predictor_->observe(loads);
  }

  std::vector<int> layers_;  // MoE layers of the model
  std::size_t experts_;
  std::vector<double> row_sums_;
  int64_t steps_kept_;
  std::vector<DemandMatrix> last_;  // per layer, expert ranks x experts
  std::unique_ptr<plan::Predictor> predictor_;
  int64_t next_ = 0;  // first step that was not observed
  std::map<std::pair<int64_t, std::size_t>, DemandMatrix> answered_;  // (step, index of the layer)
};

}  // namespace

plan::PredictorOptions run_predictor_options(int layers, int experts) {
  plan::PredictorOptions options;
  options.layers = layers;
  options.experts = experts;
  options.fit.gap_tolerance = 1e-2;
  options.fit.floor = 1e-3;
  options.fit.most_steps = 200;
  return options;
}

sim::PredictPolicy prediction_policy(const FabricSpec& spec, const Study& study) {
  if (spec.mixnet.dispatch != DispatchMode::kPredict ||
      spec.mixnet.predictor == Predictor::kUnchanged) {
    return nullptr;
  }
  std::vector<std::vector<int>> stages;
  std::map<int64_t, std::size_t> stage_of;  // of each MoE layer
  for (int stage = 0; stage < study.parallelism.pp; ++stage) {
    stages.push_back(sim::moe_layers_of(study.model, study.parallelism.pp, stage));
    for (const int layer : stages.back()) {
      stage_of[layer] = stages.size() - 1;
    }
  }
  const auto predictors = std::make_shared<std::map<std::pair<std::size_t, int>, StagePredictor>>();
  return [=](const sim::PredictionRequest& request) {
    const std::size_t stage = stage_of.at(request.layer);
    const auto it =
        predictors->try_emplace({stage, request.copy}, spec, study, stages[stage]).first;
    return it->second.demand(request);
  };
}

}  // namespace mixnet::cli
