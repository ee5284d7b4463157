#include "plan/predict_fit.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plan/predict_simplex.h"

namespace mixnet::plan {

TransitionFit::TransitionFit(int experts, int window, FitOptions options)
    : experts_(static_cast<std::size_t>(experts)),
      window_(static_cast<std::size_t>(window)),
      options_(options),
      newton_(experts_, window_) {
  CHECK(experts >= 1 && window >= 1, "a fit needs an expert and a sample");
  CHECK(options.decay > 0 && options.decay <= 1, "decay is in (0, 1]");
  const std::size_t samples = window_ * experts_;
  for (std::vector<double>* v : {&raw_x_, &raw_y_, &x_by_expert_, &x_by_sample_, &y_, &residual_,
                                 &misfit_, &trial_, &direction_, &scaled_x_}) {
    v->resize(samples);
  }
  columns_.resize(experts_ * experts_);
  center_.resize(experts_ * experts_);
  gram_.resize(experts_ * experts_);
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

// misfit_ = Y - P X.
void TransitionFit::residuals_of_columns() {
  for (std::size_t t = 0; t < held_; ++t) {
    const std::span<double> r(&misfit_[t * experts_], experts_);
    std::fill(r.begin(), r.end(), 0.0);
    accumulate_rows(r, columns_.data(), &x_by_sample_[t * experts_], experts_);
    for (std::size_t i = 0; i < experts_; ++i) {
      r[i] = y_[t * experts_ + i] - r[i];
    }
  }
}

// Gram matrix of the scaled rows of X, for the Newton steps.
void TransitionFit::take_gram() {
  for (std::size_t j = 0; j < experts_; ++j) {
    const double root = std::sqrt(step_size_[j]);
    for (std::size_t t = 0; t < held_; ++t) {
      scaled_x_[j * held_ + t] = root * x_by_expert_[j * held_ + t];
    }
  }
  for (std::size_t j = 0; j < experts_; ++j) {
    for (std::size_t m = 0; m <= j; ++m) {
      const double product =
          dot({&scaled_x_[j * held_], held_}, {&scaled_x_[m * held_], held_});
      gram_[j * experts_ + m] = product;
      gram_[m * experts_ + j] = product;
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
  take_gram();
  FitReport report;
  report.scale = variance_of_y();
  residuals_of_columns();
  const std::size_t numbers = held_ * experts_;
  report.objective = squared_norm({misfit_.data(), numbers});
  std::copy_n(misfit_.begin(), numbers, residual_.begin());
  double bound = 0;
  double sigma = options_.first_sigma;
  while (!ended(report, bound)) {
    center_ = columns_;
    bool more = true;
    double value = project_columns(residual_, sigma, report, bound);
    while (more && !ended(report, bound)) {
      newton_direction(sigma);
      more = line_search(sigma, value, report, bound);
    }
    sigma = std::max(sigma * options_.sigma_factor, 1e-9);
  }
  return report;
}

bool TransitionFit::ended(FitReport& report, double bound) const {
  report.gap = std::max(0.0, report.objective - bound);
  report.certified = report.gap <= std::max(options_.gap_tolerance * report.objective,
                                            options_.floor * report.scale);
  return report.certified || report.steps >= options_.most_steps;
}

// columns_ = P(R), misfit_ = Y - P(R) X; objective, bound and the value psi(R) follow.
double TransitionFit::project_columns(const std::vector<double>& r, double sigma,
                                      FitReport& report, double& bound) {
  double value = 0;
  double sum_of_largest = 0;
  for (std::size_t j = 0; j < experts_; ++j) {
    if (step_size_[j] == 0) {  // no sample sees this column
      continue;
    }
    double* __restrict p = &columns_[j * experts_];
    const double* __restrict center = &center_[j * experts_];
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    accumulate_rows(gradient_, r.data(), &x_by_expert_[j * held_], held_);
    sum_of_largest += largest(gradient_);
    double* __restrict v = target_.data();
    const double* __restrict g = gradient_.data();
    const double step = step_size_[j] / sigma;
    for (std::size_t i = 0; i < experts_; ++i) {
      v[i] = center[i] + step * g[i];
    }
    const double tau = simplex_threshold(target_, threshold_[j]);
    threshold_[j] = tau;
    for (std::size_t i = 0; i < experts_; ++i) {
      p[i] = v[i] - tau > 0 ? v[i] - tau : 0.0;
      const double moved = p[i] - center[i];
      v[i] = g[i] * p[i] - moved * moved / (2 * step);
    }
    value += sum(target_);
  }
  const std::size_t numbers = held_ * experts_;
  const std::span<const double> all(r.data(), numbers);
  const double along = dot(all, {y_.data(), numbers});
  const double norm = squared_norm(all);
  const double gain = along - sum_of_largest;
  if (gain > 0 && norm > 0) {
    bound = std::max(bound, gain * gain / norm);
  }
  residuals_of_columns();
  report.objective = squared_norm({misfit_.data(), numbers});
  ++report.steps;
  return norm / 2 - along + value;
}

// direction_ = dR, by rows; from misfit_ - residual_.
void TransitionFit::newton_direction(double sigma) {
  for (std::size_t t = 0; t < held_; ++t) {
    for (std::size_t i = 0; i < experts_; ++i) {
      direction_[i * held_ + t] = misfit_[t * experts_ + i] - residual_[t * experts_ + i];
    }
  }
  newton_.solve(gram_, {scaled_x_.data(), experts_ * held_}, 1 / sigma, columns_,
                {direction_.data(), experts_ * held_});
}

// Moves R along the direction as far as psi falls enough. Returns whether this proximal step needs
// more Newton steps.
bool TransitionFit::line_search(double sigma, double& value, FitReport& report, double& bound) {
  const std::size_t numbers = held_ * experts_;
  double slope = 0;
  for (std::size_t t = 0; t < held_; ++t) {
    for (std::size_t i = 0; i < experts_; ++i) {
      const std::size_t n = t * experts_ + i;
      slope -= (misfit_[n] - residual_[n]) * direction_[i * held_ + t];
    }
  }
  double length = 1;
  double next = 0;
  for (int halvings = 0; halvings < 12; ++halvings, length /= 2) {
    for (std::size_t t = 0; t < held_; ++t) {
      for (std::size_t i = 0; i < experts_; ++i) {
        const std::size_t n = t * experts_ + i;
        trial_[n] = residual_[n] + length * direction_[i * held_ + t];
      }
    }
    next = project_columns(trial_, sigma, report, bound);
    if (next <= value + 1e-4 * length * slope + 1e-15 || ended(report, bound)) {
      break;
    }
  }
  value = next;
  residual_.swap(trial_);
  double error = 0;
  for (std::size_t n = 0; n < numbers; ++n) {
    error += (misfit_[n] - residual_[n]) * (misfit_[n] - residual_[n]);
  }
  double moved = 0;
  for (std::size_t j = 0; j < experts_; ++j) {
    if (step_size_[j] > 0) {
      double m = 0;
      for (std::size_t i = 0; i < experts_; ++i) {
        const double d = columns_[j * experts_ + i] - center_[j * experts_ + i];
        m += d * d;
      }
      moved += m / step_size_[j];
    }
  }
  return error > options_.inner * sigma * moved;
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
