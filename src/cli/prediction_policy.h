#pragma once

#include "core/study.h"
#include "plan/predict.h"
#include "sim/policies.h"

namespace mixnet::cli {

// `dispatch = "predict"`: the demand that a plan::Predictor stands for. Every stage of every copy
// with routing of its own has a predictor, which has seen the steps before the one that is asked
// for (at most kPredictorHistory of them) and, at this one, the layers of its stage before `layer`.
// Empty if nothing is predicted on this fabric, and for `predictor = "unchanged"`, which the
// simulator answers itself. Calls share state; one policy serves one run.
//
// Cost of one call: plan::predicted_demand(), and for the first layer of a step one observe() of
// every step since the last one that was asked for.
sim::PredictPolicy prediction_policy(const FabricSpec& spec, const Study& study);

// How predictors of runs are set up. Fits end earlier than those of `mixnet predict`: six times
// cheaper with 256 experts, for load errors that are at most 1.2 % larger (docs/prediction.md).
plan::PredictorOptions run_predictor_options(int layers, int experts);

// Twice what Copilot fits; an exponential average has 0.1 % of its weight before that.
inline constexpr int kPredictorHistory = 32;

}  // namespace mixnet::cli
