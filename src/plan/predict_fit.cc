#include "plan/predict_fit.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plan/predict_simplex.h"

namespace mixnet::plan {

TransitionFit::TransitionFit(int experts, int window, FitOptions options)
    : experts_(static_cast<std::size_t>(experts)),
      window_(static_cast<std::size_t>(window)),
      options_(options) {
  CHECK(experts >= 1 && window >= 1, "a fit needs an expert and a sample");
  CHECK(options.decay > 0 && options.decay <= 1, "decay is in (0, 1]");
  const std::size_t samples = window_ * experts_;
  for (std::vector<double>* v : {&raw_x_, &raw_y_, &x_by_expert_, &x_by_sample_, &y_, &residual_,
                                 &residual_before_, &at_}) {
    v->resize(samples);
  }
  columns_.resize(experts_ * experts_);
  previous_.resize(experts_ * experts_);
  step_size_.resize(experts_);
  threshold_.resize(experts_);
  gradient_.resize(experts_);
  target_.resize(experts_);
  mean_y_.resize(experts_);
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
  std::fill(step_size_.begin(), step_size_.end(), 0.0);
  std::fill(mean_y_.begin(), mean_y_.end(), 0.0);
  double weight = 1 / sum;
  for (std::size_t age = 0; age < held_; ++age, weight *= options_.decay) {
    const std::size_t slot = (next_ + window_ - 1 - age) % window_;
    const double root = std::sqrt(weight);
    for (std::size_t j = 0; j < experts_; ++j) {
      const double x = raw_x_[slot * experts_ + j];
      const double y = raw_y_[slot * experts_ + j];
      step_size_[j] += weight * x;
      mean_y_[j] += weight * y;
      x_by_sample_[age * experts_ + j] = root * x;
      x_by_expert_[j * held_ + age] = root * x;
      y_[age * experts_ + j] = root * y;
    }
    root_weight_[age] = root;
  }
  for (double& s : step_size_) {
    s = s > 0 ? 1 / s : 0.0;
  }
}

double TransitionFit::variance_of_y() {
  double sum = 0;
  for (std::size_t t = 0; t < held_; ++t) {
    for (std::size_t i = 0; i < experts_; ++i) {
      gradient_[i] = y_[t * experts_ + i] - root_weight_[t] * mean_y_[i];
    }
    sum += squared_norm(gradient_);
  }
  return sum;
}

void TransitionFit::start_cold() {
  for (std::size_t j = 0; j < experts_; ++j) {
    std::copy(mean_y_.begin(), mean_y_.end(),
              columns_.begin() + static_cast<std::ptrdiff_t>(j * experts_));
  }
  std::fill(threshold_.begin(), threshold_.end(), 0.0);
}

// residual_ = Y - P X.
void TransitionFit::take_residuals() {
  for (std::size_t t = 0; t < held_; ++t) {
    const std::span<double> r(&residual_[t * experts_], experts_);
    std::fill(r.begin(), r.end(), 0.0);
    accumulate_rows(r, columns_.data(), &x_by_sample_[t * experts_], experts_);
    for (std::size_t i = 0; i < experts_; ++i) {
      r[i] = y_[t * experts_ + i] - r[i];
    }
  }
}

FitReport TransitionFit::fit() {
  CHECK(held_ > 0, "a fit needs a sample");
  weigh_samples();
  if (!warm_) {
    start_cold();
    warm_ = true;
  }
  FitReport report;
  report.scale = variance_of_y();
  take_residuals();
  previous_ = columns_;
  residual_before_ = residual_;
  const std::size_t numbers = held_ * experts_;
  report.objective = squared_norm({residual_.data(), numbers});
  double bound = 0;
  double inertia = 1;  // t of FISTA
  double beta = 0;
  while (true) {
    report.gap = std::max(0.0, report.objective - bound);
    report.certified = report.gap <= std::max(options_.gap_tolerance * report.objective,
                                              options_.floor * report.scale);
    if (report.certified || report.steps == options_.most_steps) {
      return report;
    }
    for (std::size_t n = 0; n < numbers; ++n) {
      at_[n] = residual_[n] + beta * (residual_[n] - residual_before_[n]);
    }
    const StepSums sums = step_columns(beta);
    bound = std::max(bound, lower_bound(sums.largest));
    columns_.swap(previous_);
    residual_.swap(residual_before_);
    take_residuals();
    report.objective = squared_norm({residual_.data(), numbers});
    ++report.steps;
    const double next = sums.uphill > 0 ? 1 : (1 + std::sqrt(1 + 4 * inertia * inertia)) / 2;
    beta = sums.uphill > 0 ? 0 : (inertia - 1) / next;
    inertia = next;
  }
}

// One projected gradient step from P + beta (P - previous), into previous_.
TransitionFit::StepSums TransitionFit::step_columns(double beta) {
  StepSums sums;
  for (std::size_t j = 0; j < experts_; ++j) {
    double* __restrict q = &previous_[j * experts_];
    const double* __restrict p = &columns_[j * experts_];
    if (step_size_[j] == 0) {  // no sample sees this column
      std::copy(p, p + experts_, q);
      continue;
    }
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    accumulate_rows(gradient_, at_.data(), &x_by_expert_[j * held_], held_);
    sums.largest += largest(gradient_);
    double* __restrict v = target_.data();
    const double* __restrict g = gradient_.data();
    const double step = step_size_[j];
    for (std::size_t i = 0; i < experts_; ++i) {
      v[i] = p[i] + beta * (p[i] - q[i]) + step * g[i];
    }
    const double tau = simplex_threshold(target_, threshold_[j]);
    threshold_[j] = tau;
    for (std::size_t i = 0; i < experts_; ++i) {
      const double moved = v[i] - tau > 0 ? v[i] - tau : 0.0;
      const double from = v[i] - step * g[i];
      q[i] = moved;
      v[i] = (from - moved) * (moved - p[i]);
    }
    sums.uphill += sum(target_) / step;
  }
  return sums;
}

// Weak duality at the residuals at_, scaled as is best.
double TransitionFit::lower_bound(double sum_of_largest) const {
  const std::size_t numbers = held_ * experts_;
  const double gain = dot({at_.data(), numbers}, {y_.data(), numbers}) - sum_of_largest;
  return gain > 0 ? gain * gain / squared_norm({at_.data(), numbers}) : 0.0;
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
