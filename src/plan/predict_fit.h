#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix.h"

// Problem (MixNet, SIGCOMM 2025, appendix B.1). Given k samples (x_t, y_t) of normalised expert
// loads, x_t of one MoE layer and y_t of the next one in the same iteration, find the E x E matrix
// P with columns in the probability simplex that minimises
//   f(P) = sum_t w_t ||y_t - P x_t||^2,   w_t proportional to decay^age, sum_t w_t = 1.
// P(i, j) reads as the share of expert j's load that moves on to expert i.
//
// Method. Alternating directions (ADMM, Boyd et al. 2011), with D = diag(sum_t w_t x_tj) as metric
// so that rarely used experts move as fast as popular ones. With W folded into X and Y (both k
// columns) and V = Z - U, one step is
//   P = V + (Y - V X) (rho I + X' D^-1 X)^-1 X' D^-1     the smooth half: a k x k inverse, because
//   Z = columns of 1.6 P - 0.6 Z + U, projected           D^-1-metric Hessians have rank k
//   U = U + 1.6 P - 0.6 Z_old - Z
// Z is the answer: its columns are in the simplex after every step. rho balances the two halves and
// is kept, like Z and U, from one fit to the next. A step costs 2 E^2 k multiplications and about
// E^2 for the projections; no E x E system is ever formed. Projected gradients need about ten times
// as many steps: near-equal samples make X X' ill-conditioned, and here the inverse takes that up.
//
// Certificate. For any k x E residuals R, weak duality gives
//   min f >= max(a, 0)^2 / ||R||^2 with a = <R, Y> - sum_j max_i (R X')(i, j).
// For the residuals of Z itself and without the scaling by a / ||R||^2, f(Z) minus the bound is the
// Frank-Wolfe gap. R = residuals of P makes the bound a by-product of every step; the best one is
// kept. The fit ends when
//   gap = f(Z) - bound <= max(gap_tolerance * f(Z), floor * scale).
// `scale` is the weighted variance of y around its mean, that is f of the best P that ignores x: it
// keeps the test meaningful when the samples can be met exactly (f = 0).
//
// Undetermined P. With fewer samples than experts P is rarely unique. A cold start is
// P(i, j) = mean of y(i), so that directions that no sample shows predict the mean; a warm start is
// the last P.
namespace mixnet::plan {

struct FitOptions {
  double gap_tolerance = 1e-4;
  double floor = 1e-6;    // 1e-6: a root mean square misfit of 0.1 % of the deviation of y
  double decay = 0.9;     // weight of a sample against the one after it, in (0, 1]
  int most_steps = 5000;  // then the fit ends without the certificate
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
  // Squared norms that say whether rho is too large or too small.
  struct Balance {
    double apart = 0;  // P - Z
    double moved = 0;  // Z - Z_old
    double size = 0;   // Z
    double force = 0;  // U
  };

  void weigh_samples();
  double variance_of_y();
  void start_cold();
  void take_gram();
  void take_inverse();
  double take_residuals(const std::vector<double>& columns);
  void solve_residuals();
  double step_columns(Balance* balance);
  void weigh_column(std::size_t j, double tau, Balance& balance) const;
  bool rebalance(const Balance& balance);
  double lower_bound(double largest_sum) const;

  std::size_t experts_;
  std::size_t window_;
  FitOptions options_;
  bool warm_ = false;
  std::size_t held_ = 0;       // samples in the window
  std::size_t next_ = 0;       // slot of the next sample
  std::vector<double> raw_x_;  // window x E, as added
  std::vector<double> raw_y_;

  // Of the current fit. k = held_.
  std::vector<double> root_weight_;  // k
  std::vector<double> x_by_expert_;  // E x k: sqrt(w_t) x_tj
  std::vector<double> x_by_sample_;  // k x E, the same
  std::vector<double> y_;            // k x E: sqrt(w_t) y_t
  std::vector<double> mean_y_;       // E: weighted
  std::vector<double> inverse_d_;    // E: diagonal of D^-1, 0 for experts without load
  std::vector<double> gram_;         // k x k: X' D^-1 X
  std::vector<double> shifted_;      // k x k: scratch of the inverse
  std::vector<double> inverse_;      // k x k

  // Kept between fits. Row j of these E x E arrays is column j of the matrix.
  double rho_ = 0;
  std::vector<double> columns_;     // Z
  std::vector<double> multiplier_;  // U
  std::vector<double> anchor_;      // V
  std::vector<double> threshold_;   // E: last tau of every column

  std::vector<double> residual_;  // k x E
  std::vector<double> dual_;      // k x E
  std::vector<double> product_;   // E: scratch of one column
  std::vector<double> target_;    // E: the same
};

}  // namespace mixnet::plan
