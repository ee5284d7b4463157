#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/result.h"
#include "plan/predict_fit.h"

// Problem. Before a MoE layer's gate has run, predict how its tokens will spread over its experts,
// so that circuits can be switched during attention (MixNet-Copilot; SIGCOMM 2025, appendix B.1).
// Known are all layers of past iterations and the layers before it in this one.
//
// Loads are matrices [layers x experts] of token counts, in any unit. Predictions are normalised:
// E numbers >= 0 with sum 1. A layer without tokens has no shape: it teaches nothing, and what was
// known of the layer before stays. Before anything is known the prediction is uniform.
//
// Predictors.
//   unchanged    the layer's load in the last iteration
//   average      exponential average of the layer's normalised loads
//   uniform      1 / E
//   random       uniform on the simplex, a new draw each time: the baseline of figure 19 of the
//                paper
//   copilot      P times the load of the layer before, see plan/predict_fit.h. The first MoE layer
//                has none before it: its own load of the last iteration stands in
//   best         whichever of unchanged, average, uniform and copilot had the least average load
//                error at this layer so far (recent errors weighted more); ties: the first of them
namespace mixnet::plan {

struct PredictorOptions {
  int layers = 1;
  int experts = 1;
  int window = 16;      // iterations that copilot fits
  double memory = 0.8;  // weight of the past in averages, in [0, 1)
  uint64_t seed = 1;    // of random
  FitOptions fit;
};

// Protocol object without I/O: for every iteration call predict() for the layers in order, then
// observe(). Deterministic.
class Predictor {
 public:
  Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  virtual ~Predictor() = default;

  // The load of `layer`. Of `loads` (layers x experts) only the rows before it are read.
  virtual std::vector<double> predict(int layer, const Matrix<double>& loads) = 0;
  // What this iteration turned out to be.
  virtual void observe(const Matrix<double>& loads) = 0;
};

// The names above, in that order.
const std::vector<std::string>& predictor_names();

// The error lists the names.
Result<std::unique_ptr<Predictor>> make_predictor(const std::string& name,
                                                  const PredictorOptions& options);

// `counts` over their sum; empty if that is 0.
std::vector<double> normalized_load(std::span<const double> counts);

// Share of the load that is predicted at the wrong expert: half the L1 distance of two normalised
// loads, 0 (right) to 1 (disjoint).
double load_error(std::span<const double> predicted, std::span<const double> actual);

// Share of the k most loaded experts that are among the k predicted ones; equal loads: the lower
// index counts as larger. 1 <= k <= E.
double top_k_accuracy(std::span<const double> predicted, std::span<const double> actual, int k);

// The [source x expert] demand that a predicted load stands for. `last` is the last demand that was
// seen, `load` the prediction (E, sum 1), `row_sums` what every source will send (its tokens times
// top-k: known before the gate has run). Every row of `last` is scaled per expert by load / last
// load and then as a whole such that its sum is right. Experts that had no tokens at all are asked
// for in proportion to `load`, and so is everything by sources without history.
// O(sources * experts).
DemandMatrix predicted_demand(const DemandMatrix& last, std::span<const double> load,
                              std::span<const double> row_sums);

}  // namespace mixnet::plan
