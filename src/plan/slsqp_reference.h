#pragma once

#include "core/matrix.h"

// NLopt's SLSQP on the problem of plan/predict_fit.h: the reference of its tests and benchmarks,
// never a part of a decision.
namespace mixnet::plan {

struct ReferenceFit {
  Matrix<double> transition;  // E x E, clipped and scaled to columns in the simplex
  double objective = 0;       // of it
  bool finished = false;      // false: the time ran out
};

// x, y: k x E, one normalised sample per row, the newest first; weights decay^age / sum. Starts
// from the mean of y in every column, with analytic gradients. `seconds` is wall clock.
ReferenceFit slsqp_fit(const Matrix<double>& x, const Matrix<double>& y, double decay,
                       double seconds);

// f(P) of the same samples.
double fit_objective(const Matrix<double>& transition, const Matrix<double>& x,
                     const Matrix<double>& y, double decay);

}  // namespace mixnet::plan
