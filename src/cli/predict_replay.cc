#include "cli/predict_replay.h"

#include <cmath>
#include <limits>
#include <memory>

#include "cli/trace_demand.h"
#include "core/check.h"
#include "plan/wire.h"

namespace mixnet::cli {
namespace {

double total(const DemandMatrix& demand) {
  double sum = 0;
  for (const double d : demand.cells()) {
    sum += d;
  }
  return sum;
}

struct Step {
  DemandMatrix demand;        // source x expert
  plan::WireProblem problem;  // between servers
  double best = 0;            // completion of the wiring for it
};

double ratio_for(const Step& step, const DemandMatrix& predicted, const ReplayOptions& options) {
  if (step.best == 0) {
    return 1;
  }
  const plan::WireProblem guess{between_servers(predicted, options.servers), options.alpha,
                                options.eps};
  const Wiring wired = plan::wire(guess, Allocator::kSplit);
  const double completion =
      plan::route_over(step.problem, wired.circuits, Allocator::kSplit).completion;
  const bool ends = std::isfinite(completion) && std::isfinite(step.best);
  return ends ? completion / step.best : std::numeric_limits<double>::infinity();
}

void score(LayerScore& sum, const std::vector<double>& predicted, const std::vector<double>& actual,
           int top_k, double ratio) {
  ++sum.scored;
  sum.top_k_accuracy += plan::top_k_accuracy(predicted, actual, top_k);
  sum.load_error += plan::load_error(predicted, actual);
  sum.all_to_all_ratio += ratio;
}

// Sums to means, of the layers and of all of them.
void average(PredictorScore& result) {
  int layers = 0;
  for (LayerScore& layer : result.layers) {
    if (layer.scored == 0) {
      continue;
    }
    const auto n = static_cast<double>(layer.scored);
    layer.top_k_accuracy /= n;
    layer.load_error /= n;
    layer.all_to_all_ratio /= n;
    result.mean.scored += layer.scored;
    result.mean.top_k_accuracy += layer.top_k_accuracy;
    result.mean.load_error += layer.load_error;
    result.mean.all_to_all_ratio += layer.all_to_all_ratio;
    ++layers;
  }
  if (layers > 0) {
    result.mean.top_k_accuracy /= layers;
    result.mean.load_error /= layers;
    result.mean.all_to_all_ratio /= layers;
  }
}

class Replay {
 public:
  Replay(const RoutingView& trace, const ReplayOptions& options)
      : trace_(trace), options_(options), last_(static_cast<std::size_t>(trace.layers)) {
    plan::PredictorOptions how;
    how.layers = static_cast<int>(trace.layers);
    how.experts = static_cast<int>(trace.experts);
    how.window = options.window;
    how.seed = options.seed;
    for (const std::string& name : options.predictors) {
      predictors_.push_back(plan::make_predictor(name, how).value());
      results_.push_back({name, std::vector<LayerScore>(last_.size()), {}});
    }
  }

  void run_iteration(int64_t iteration) {
    std::vector<Step> steps(last_.size());
    Matrix<double> loads(last_.size(), static_cast<std::size_t>(trace_.experts));
    for (std::size_t l = 0; l < last_.size(); ++l) {
      Step& step = steps[l];
      step.demand = step_demand(trace_, iteration, static_cast<int64_t>(l));
      for (std::size_t s = 0; s < step.demand.rows(); ++s) {
        for (std::size_t e = 0; e < step.demand.cols(); ++e) {
          loads(l, e) += step.demand(s, e);
        }
      }
      step.problem = {between_servers(step.demand, options_.servers), options_.alpha, options_.eps};
      if (iteration >= options_.warm_up) {
        step.best = plan::wire(step.problem, Allocator::kSplit).completion;
      }
    }
    for (std::size_t p = 0; p < predictors_.size(); ++p) {
      for (std::size_t l = 0; l < last_.size() && iteration >= options_.warm_up; ++l) {
        score_layer(p, l, loads, steps[l]);
      }
      predictors_[p]->observe(loads);
    }
    for (std::size_t l = 0; l < last_.size(); ++l) {
      if (total(steps[l].demand) > 0) {
        last_[l] = std::move(steps[l].demand);
      }
    }
  }

  std::vector<PredictorScore> finish() {
    for (PredictorScore& result : results_) {
      average(result);
    }
    return std::move(results_);
  }

 private:
  void score_layer(std::size_t p, std::size_t l, const Matrix<double>& loads, const Step& step) {
    const std::vector<double> predicted = predictors_[p]->predict(static_cast<int>(l), loads);
    const std::vector<double> actual = plan::normalized_load(loads.row(l));
    if (actual.empty()) {
      return;
    }
    const DemandMatrix unknown(step.demand.rows(), step.demand.cols());
    const DemandMatrix& last = last_[l].empty() ? unknown : last_[l];
    std::vector<double> row_sums(step.demand.rows(), 0.0);
    for (std::size_t s = 0; s < row_sums.size(); ++s) {
      for (const double tokens : step.demand.row(s)) {
        row_sums[s] += tokens;
      }
    }
    const double ratio =
        ratio_for(step, plan::predicted_demand(last, predicted, row_sums), options_);
    score(results_[p].layers[l], predicted, actual, options_.top_k, ratio);
  }

  const RoutingView& trace_;
  const ReplayOptions& options_;
  std::vector<DemandMatrix> last_;  // per layer, of the last iteration with tokens; may be empty
  std::vector<std::unique_ptr<plan::Predictor>> predictors_;
  std::vector<PredictorScore> results_;
};

}  // namespace

std::vector<PredictorScore> replay_predictions(
    const RoutingView& trace, const ReplayOptions& options,
    const std::function<void(int64_t, int64_t)>& progress) {
  CHECK(options.servers >= 1 && options.servers <= trace.experts, "servers hold experts");
  CHECK(options.warm_up >= 1, "the first iteration cannot be predicted");
  Replay replay(trace, options);
  for (int64_t i = 0; i < trace.iterations; ++i) {
    replay.run_iteration(i);
    if (progress) {
      progress(i + 1, trace.iterations);
    }
  }
  return replay.finish();
}

}  // namespace mixnet::cli
