#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/routing.h"
#include "plan/predict.h"

namespace mixnet::cli {

struct ReplayOptions {
  std::vector<std::string> predictors;  // of plan::predictor_names()
  int top_k = 2;
  int window = 16;
  int64_t warm_up = 1;  // first iterations that are observed but not scored, >= 1
  int servers = 1;      // sources and experts are spread evenly over them, in order
  int alpha = 6;        // optical NICs per server
  int eps = 2;          // electrical NICs per server
  uint64_t seed = 1;
};

// Means over the scored iterations with tokens; 0 if there are none.
struct LayerScore {
  int64_t scored = 0;
  double top_k_accuracy = 0;
  double load_error = 0;
  // Completion of the dispatch over circuits wired for the predicted demand, over that with
  // circuits wired for the true one, both split over circuits and electrical NICs. +infinity if
  // one never completes. Layers without traffic between servers count as 1.
  double all_to_all_ratio = 0;
};

struct PredictorScore {
  std::string name;
  std::vector<LayerScore> layers;
  LayerScore mean;  // over layers with scored iterations
};

// Replays a trace: every predictor sees each layer only after it has predicted it. `progress` may
// be empty: called with finished and all iterations. Names are valid; 1 <= top_k <= experts;
// 1 <= servers <= experts.
std::vector<PredictorScore> replay_predictions(
    const RoutingView& trace, const ReplayOptions& options,
    const std::function<void(int64_t, int64_t)>& progress);

}  // namespace mixnet::cli
