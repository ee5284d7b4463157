#include "plan/predict_fit.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plan/predict_simplex.h"

namespace mixnet::plan {

namespace {

constexpr int kStepsPerCheck = 5;         // an objective costs half a step
constexpr double kRelaxation = 1.7;       // the usual over-relaxation of the method
constexpr double kRebalance = 1.5;        // smaller changes of rho are not worth an inverse
constexpr double kErrorRounding = 1e-24;  // squared errors of loads, which sum to 1
constexpr std::size_t kColumnBlock = 8;
// With fewer samples than experts the bound, not the answer, is what comes late: a smaller rho
// favours it. Measured on generated loads: half the steps for 64 and 256 experts.
constexpr double kBoundFirst = 0.4;
constexpr double kFirstRho = 0.01;
constexpr double kLeastRho = 1e-7;
constexpr double kMostRho = 10;

}  // namespace

TransitionFit::TransitionFit(int experts, int window, FitOptions options)
    : experts_(static_cast<std::size_t>(experts)),
      window_(static_cast<std::size_t>(window)),
      options_(options) {
  CHECK(experts >= 1 && window >= 1, "a fit needs an expert and a sample");
  CHECK(options.decay > 0 && options.decay <= 1, "decay is in (0, 1]");
  for (std::vector<double>* v :
       {&raw_x_, &raw_y_, &x_by_expert_, &x_by_sample_, &y_, &residual_, &dual_}) {
    v->resize(window_ * experts_);
  }
  for (std::vector<double>* v : {&columns_, &multiplier_, &anchor_}) {
    v->resize(experts_ * experts_);
  }
  for (std::vector<double>* v : {&gram_, &shifted_, &inverse_}) {
    v->resize(window_ * window_);
  }
  for (std::vector<double>* v : {&inverse_d_, &threshold_, &product_, &target_, &mean_y_}) {
    v->resize(experts_);
  }
  root_weight_.resize(window_);
}

void TransitionFit::add(std::span<const double> x, std::span<const double> y) {
  CHECK(x.size() == experts_ && y.size() == experts_, "a load has one number per expert");
  std::copy(x.begin(), x.end(), raw_x_.begin() + static_cast<std::ptrdiff_t>(next_ * experts_));
  std::copy(y.begin(), y.end(), raw_y_.begin() + static_cast<std::ptrdiff_t>(next_ * experts_));
  next_ = (next_ + 1) % window_;
  held_ = std::min(held_ + 1, window_);
}

// Copies the window, newest sample first, times the root of its weight.
void TransitionFit::weigh_samples() {
  double sum = 0;
  double power = 1;
  for (std::size_t age = 0; age < held_; ++age, power *= options_.decay) {
    sum += power;
  }
  std::fill(inverse_d_.begin(), inverse_d_.end(), 0.0);
  std::fill(mean_y_.begin(), mean_y_.end(), 0.0);
  double weight = 1 / sum;
  for (std::size_t age = 0; age < held_; ++age, weight *= options_.decay) {
    const std::size_t slot = (next_ + window_ - 1 - age) % window_;
    const double root = std::sqrt(weight);
    for (std::size_t j = 0; j < experts_; ++j) {
      const double x = raw_x_[slot * experts_ + j];
      const double y = raw_y_[slot * experts_ + j];
      inverse_d_[j] += weight * x;
      mean_y_[j] += weight * y;
      x_by_sample_[age * experts_ + j] = root * x;
      x_by_expert_[j * held_ + age] = root * x;
      y_[age * experts_ + j] = root * y;
    }
    root_weight_[age] = root;
  }
  for (double& s : inverse_d_) {
    s = s > 0 ? 1 / s : 0.0;
  }
}

double TransitionFit::variance_of_y() {
  double sum = 0;
  for (std::size_t t = 0; t < held_; ++t) {
    for (std::size_t i = 0; i < experts_; ++i) {
      product_[i] = y_[t * experts_ + i] - root_weight_[t] * mean_y_[i];
    }
    sum += squared_norm(product_);
  }
  return sum;
}

void TransitionFit::start_cold() {
  for (std::size_t j = 0; j < experts_; ++j) {
    std::copy(mean_y_.begin(), mean_y_.end(),
              columns_.begin() + static_cast<std::ptrdiff_t>(j * experts_));
  }
  std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
  std::fill(threshold_.begin(), threshold_.end(), 0.0);
  rho_ = kFirstRho;
  warm_ = true;
}

// X' D^-1 X, of which every change of rho needs another shifted inverse.
void TransitionFit::take_gram() {
  for (std::size_t a = 0; a < held_; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t j = 0; j < experts_; ++j) {
        product += x_by_sample_[a * experts_ + j] * x_by_sample_[b * experts_ + j] * inverse_d_[j];
      }
      gram_[a * held_ + b] = product;
      gram_[b * held_ + a] = product;
    }
  }
}

// inverse_ = (rho I + X' D^-1 X)^-1 by Gauss-Jordan elimination; positive definite, so without
// pivots.
void TransitionFit::take_inverse() {
  const std::size_t k = held_;
  std::copy_n(gram_.begin(), k * k, shifted_.begin());
  std::fill(inverse_.begin(), inverse_.end(), 0.0);
  for (std::size_t a = 0; a < k; ++a) {
    shifted_[a * k + a] += rho_;
    inverse_[a * k + a] = 1;
  }
  for (std::size_t a = 0; a < k; ++a) {
    const double pivot = 1 / shifted_[a * k + a];
    for (std::size_t c = 0; c < k; ++c) {
      shifted_[a * k + c] *= pivot;
      inverse_[a * k + c] *= pivot;
    }
    for (std::size_t r = 0; r < k; ++r) {
      const double factor = r == a ? 0.0 : shifted_[r * k + a];
      for (std::size_t c = 0; c < k; ++c) {
        shifted_[r * k + c] -= factor * shifted_[a * k + c];
        inverse_[r * k + c] -= factor * inverse_[a * k + c];
      }
    }
  }
}

FitReport TransitionFit::fit() {
  CHECK(held_ > 0, "a fit needs a sample");
  weigh_samples();
  if (!warm_) {
    start_cold();
  }
  take_gram();
  take_inverse();
  FitReport report;
  report.scale = variance_of_y();
  for (std::size_t n = 0; n < columns_.size(); ++n) {
    anchor_[n] = columns_[n] - multiplier_[n];
  }
  double bound = 0;
  int next_balance = 0;
  report.objective = take_residuals(columns_);
  while (true) {
    report.gap = std::max(0.0, report.objective - bound);
    report.certified = report.gap <= std::max(options_.gap_tolerance * report.objective,
                                              options_.floor * report.scale + kErrorRounding);
    if (report.certified || report.steps >= options_.most_steps) {
      return report;
    }
    Balance balance;
    for (int step = 1; step <= kStepsPerCheck; ++step) {
      take_residuals(anchor_);
      solve_residuals();
      const double largest_sum = step_columns(step == kStepsPerCheck ? &balance : nullptr);
      bound = std::max(bound, lower_bound(largest_sum));
    }
    report.steps += kStepsPerCheck;
    report.objective = take_residuals(columns_);
    // With a fixed rho the method converges: changes become ever rarer.
    if (report.steps >= next_balance && rebalance(balance)) {
      next_balance = report.steps + report.steps / 2;
    }
  }
}

// residual_ = Y - M X for the matrix M with these columns; returns its squared norm.
double TransitionFit::take_residuals(const std::vector<double>& columns) {
  const std::size_t numbers = held_ * experts_;
  std::fill_n(residual_.begin(), numbers, 0.0);
  // A few columns at a time, which stay in the nearest cache for all samples.
  for (std::size_t j = 0; j < experts_; j += kColumnBlock) {
    const std::size_t block = std::min(kColumnBlock, experts_ - j);
    for (std::size_t t = 0; t < held_; ++t) {
      accumulate_rows({&residual_[t * experts_], experts_}, &columns[j * experts_],
                      &x_by_sample_[t * experts_ + j], block);
    }
  }
  for (std::size_t n = 0; n < numbers; ++n) {
    residual_[n] = y_[n] - residual_[n];
  }
  return squared_norm({residual_.data(), numbers});
}

// dual_ = residual_ (rho I + X' D^-1 X)^-1: P = V + dual_ X' D^-1 solves the smooth half of the
// step, and rho * dual_ are the residuals of that P.
void TransitionFit::solve_residuals() {
  std::fill(dual_.begin(), dual_.end(), 0.0);
  for (std::size_t t = 0; t < held_; ++t) {
    accumulate_rows({&dual_[t * experts_], experts_}, residual_.data(), &inverse_[t * held_],
                    held_);
  }
}

// The projection half of the step, and the multipliers. Returns the sum over columns of the largest
// entry of dual_ X'.
double TransitionFit::step_columns(Balance* balance) {
  double largest_sum = 0;
  for (std::size_t j = 0; j < experts_; ++j) {
    if (inverse_d_[j] == 0) {  // no sample sees this column
      continue;
    }
    std::fill(product_.begin(), product_.end(), 0.0);
    accumulate_rows(product_, dual_.data(), &x_by_expert_[j * held_], held_);
    largest_sum += largest(product_);
    double* __restrict v = &anchor_[j * experts_];
    double* __restrict p = &columns_[j * experts_];
    double* __restrict u = &multiplier_[j * experts_];
    double* __restrict target = target_.data();
    double* __restrict smooth = product_.data();
    const double inverse_d = inverse_d_[j];
    for (std::size_t i = 0; i < experts_; ++i) {
      smooth[i] = v[i] + inverse_d * smooth[i];
      target[i] = kRelaxation * smooth[i] + (1 - kRelaxation) * p[i] + u[i];
    }
    const double tau = simplex_threshold(target_, threshold_[j]);
    threshold_[j] = tau;
    if (balance != nullptr) {
      weigh_column(j, tau, *balance);
    }
    for (std::size_t i = 0; i < experts_; ++i) {
      const double projected = target[i] - tau > 0 ? target[i] - tau : 0.0;
      p[i] = projected;
      u[i] = target[i] - projected;
      v[i] = projected - u[i];
    }
  }
  return largest_sum;
}

// What column j adds to the residuals of the step, in the norm of D.
void TransitionFit::weigh_column(std::size_t j, double tau, Balance& balance) const {
  double apart = 0;
  double moved = 0;
  double size = 0;
  double force = 0;
  for (std::size_t i = 0; i < experts_; ++i) {
    const double projected = std::max(target_[i] - tau, 0.0);
    const double a = product_[i] - projected;
    const double m = projected - columns_[j * experts_ + i];
    // A multiplier that is equal in all rows only shifts tau: it exerts no force.
    const double f = target_[i] - projected - tau;
    apart += a * a;
    moved += m * m;
    size += projected * projected;
    force += f * f;
  }
  balance.apart += apart / inverse_d_[j];
  balance.moved += moved / inverse_d_[j];
  balance.size += size / inverse_d_[j];
  balance.force += force / inverse_d_[j];
}

// Chooses rho such that both relative residuals are of one size; true if it changed (Boyd et al.
// 2011, section 3.4.1; the relative form is that of OSQP, Stellato et al. 2020).
bool TransitionFit::rebalance(const Balance& balance) {
  if (balance.apart <= 0 || balance.moved <= 0 || balance.size <= 0 || balance.force <= 0) {
    return false;
  }
  const double favour = experts_ > held_ ? kBoundFirst : 1;
  const double ratio =
      favour * std::sqrt(std::sqrt(balance.apart * balance.force / (balance.size * balance.moved)));
  if (ratio < kRebalance && ratio > 1 / kRebalance) {
    return false;
  }
  const double next = std::clamp(rho_ * ratio, kLeastRho, kMostRho);
  for (std::size_t n = 0; n < columns_.size(); ++n) {
    multiplier_[n] *= rho_ / next;
    anchor_[n] = columns_[n] - multiplier_[n];
  }
  std::fill(threshold_.begin(), threshold_.end(), 0.0);
  rho_ = next;
  take_inverse();
  return true;
}

// Weak duality at the residuals rho * dual_, scaled as is best (rho cancels).
double TransitionFit::lower_bound(double largest_sum) const {
  const std::span<const double> r(dual_.data(), held_ * experts_);
  const double gain = dot(r, {y_.data(), r.size()}) - largest_sum;
  return gain > 0 ? gain * gain / squared_norm(r) : 0.0;
}

void TransitionFit::apply(std::span<const double> x, std::span<double> out) const {
  CHECK(warm_, "apply() before fit()");
  CHECK(x.size() == experts_ && out.size() == experts_, "a load has one number per expert");
  std::fill(out.begin(), out.end(), 0.0);
  accumulate_rows(out, columns_.data(), x.data(), experts_);
}

Matrix<double> TransitionFit::transition() const {
  CHECK(warm_, "transition() before fit()");
  Matrix<double> p(experts_, experts_);
  for (std::size_t j = 0; j < experts_; ++j) {
    for (std::size_t i = 0; i < experts_; ++i) {
      p(i, j) = columns_[j * experts_ + i];
    }
  }
  return p;
}

}  // namespace mixnet::plan
