#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "plan/predict_newton.h"

// Problem (MixNet, SIGCOMM 2025, appendix B.1). Given k samples (x_t, y_t) of normalised expert
// loads, x_t of one MoE layer and y_t of the next one in the same iteration, find the E x E matrix
// P with columns in the probability simplex that minimises
//   f(P) = sum_t w_t ||y_t - P x_t||^2,   w_t proportional to decay^age, sum_t w_t = 1.
// P(i, j) reads as the share of expert j's load that moves on to expert i.
//
// Method. Accelerated projected gradient (FISTA, Beck and Teboulle 2009; restarts as O'Donoghue and
// Candes 2015), with one step size per column: diag(L) >= 2 X W X' holds for
// L_j = 2 sum_t w_t x_tj, because every x_t is non-negative and sums to 1. So rarely used experts
// move as fast as popular ones. Neither X X' nor a gradient of its own is stored: with residuals R
// (k x E), the gradient of column j is -2 sum_t sqrt(w_t) x_tj R_t. One step costs 2 E^2 k
// multiplications and about E^2 for the projections.
//
// Certificate. For any residuals R, and s >= 0, weak duality gives
//   min f >= 2 s a - s^2 ||R||^2 with a = <R, Y> - sum_j max_i sum_t sqrt(w_t) x_tj R_ti,
// at best max(a, 0)^2 / ||R||^2. For s = 1 and the residuals of P itself, f(P) minus it is the
// Frank-Wolfe gap. The bound is a by-product of each step; the best one is kept, so `gap` is never
// larger than the Frank-Wolfe gaps of the points at which gradients were taken. The fit ends when
//   gap <= max(gap_tolerance * f(P), floor * scale).
// `scale` is the weighted variance of y around its mean, that is f of the best P that ignores x: it
// keeps the test meaningful when the samples can be met exactly (f = 0).
//
// Undetermined P. With fewer samples than experts P is rarely unique. A cold start is
// P(i, j) = mean of y(i), so that directions that no sample shows predict the mean; a warm start is
// the last P.
namespace mixnet::plan {

struct FitOptions {
  double gap_tolerance = 1e-4;
  double floor = 1e-6;       // 1e-6: a root mean square misfit of 0.1 % of the deviation of y
  double decay = 0.9;        // weight of a sample against the one after it, in (0, 1]
  double first_sigma = 1e-3;
  double sigma_factor = 0.1;
  double inner = 0.1;
  int most_steps = 20'000;  // then the fit ends without the certificate
};

struct FitReport {
  double objective = 0;  // f(P)
  double gap = 0;        // f(P) - min f is at most this
  double scale = 0;      // weighted variance of y
  int steps = 0;         // gradients taken
  bool certified = false;
};

// The samples of one layer and the P that fits them. Memory is taken once, in the constructor.
// Deterministic: equal calls give equal bits.
class TransitionFit {
 public:
  // `experts` >= 1, `window` >= 1: the number of samples that are kept.
  TransitionFit(int experts, int window, FitOptions options = {});

  int experts() const { return static_cast<int>(experts_); }
  // Samples in the window.
  int samples() const { return static_cast<int>(held_); }

  // Adds a sample; the oldest one leaves a full window. Both hold E numbers >= 0 with sum 1.
  void add(std::span<const double> x, std::span<const double> y);

  // Fits P to the samples, starting from the last P, or cold after construction and reset().
  // Needs a sample. O(steps * E^2 * k).
  FitReport fit();

  // The next fit starts cold. Samples stay.
  void reset() { warm_ = false; }

  // out = P x; E numbers each. Needs a fit.
  void apply(std::span<const double> x, std::span<double> out) const;

  // P, row i = where expert i's load comes from. Needs a fit.
  Matrix<double> transition() const;

 private:
  void weigh_samples();
  double variance_of_y();
  void start_cold();
  void take_gram();
  void residuals_of_columns();
  bool ended(FitReport& report, double bound) const;
  double project_columns(const std::vector<double>& r, double sigma, FitReport& report,
                         double& bound);
  void newton_direction(double sigma);
  bool line_search(double sigma, double& value, FitReport& report, double& bound);

  std::size_t experts_;
  std::size_t window_;
  FitOptions options_;
  bool warm_ = false;
  std::size_t held_ = 0;  // samples in the window
  std::size_t next_ = 0;  // slot of the next sample
  std::vector<double> raw_x_;  // window x E, as added
  std::vector<double> raw_y_;

  // Of the current fit. k = held_.
  std::vector<double> x_by_expert_;  // E x k: sqrt(w_t) x_tj
  std::vector<double> x_by_sample_;  // k x E, the same
  std::vector<double> y_;            // k x E: sqrt(w_t) y_t
  std::vector<double> step_size_;    // E: 2 / L_j, 0 for experts without load in any sample
  std::vector<double> columns_;      // E x E: row j is column j of P
  std::vector<double> center_;       // E x E: of the proximal step
  std::vector<double> gram_;         // E x E
  std::vector<double> scaled_x_;     // E x k
  std::vector<double> threshold_;    // E: last tau of every column
  std::vector<double> residual_;     // k x E: R
  std::vector<double> misfit_;       // k x E: Y - P X
  std::vector<double> trial_;        // k x E
  std::vector<double> direction_;    // E x k
  std::vector<double> gradient_;         // E: of one column, negative and halved
  std::vector<double> target_;           // E: one column after the step, before the projection
  std::vector<double> mean_y_;           // E: weighted
  std::vector<double> root_weight_;      // k
  RowNewton newton_;
};

}  // namespace mixnet::plan
