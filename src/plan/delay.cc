#include "plan/delay.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/check.h"

namespace mixnet::plan {
namespace {

// The normal variable beyond which nothing counts, and the step of the integration.
constexpr double kFarthest = 12;
constexpr int kCells = 1536;
constexpr double kStep = 2 * kFarthest / kCells;
constexpr int kPoints = 32;

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// By bisection to the last bit; called a few times per device, never in a loop.
double normal_quantile(double p) {
  double low = -kFarthest;
  double high = kFarthest;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

DelayLaw::DelayLaw(const Delay& delay) : mean_s_(std::max(0.0, delay.mean.seconds())) {
  if (delay.varies()) {
    const LogNormal law = log_normal_of(delay);
    mu_ = law.mu;
    sigma_ = law.sigma;
  } else if (mean_s_ > 0) {
    mu_ = std::log(mean_s_);
  }
}

double DelayLaw::quantile_s(double p) const {
  CHECK(p > 0 && p < 1, "a quantile lies between 0 and 1");
  return sigma_ == 0 ? mean_s_ : std::exp(mu_ + sigma_ * normal_quantile(p));
}

double DelayLaw::cdf(double t_s) const {
  if (sigma_ == 0) {
    return t_s >= mean_s_ ? 1 : 0;
  }
  return t_s <= 0 ? 0 : normal_cdf((std::log(t_s) - mu_) / sigma_);
}

double DelayLaw::expected_max_s(int n) const {
  CHECK(n >= 0, "a number of delays is not negative");
  if (n == 0 || sigma_ == 0) {
    return n == 0 ? 0 : mean_s_;
  }
  // Sum over cells of the normal variable: value in the middle times P(the largest is in the cell).
  double expected = 0;
  double below = 0;
  for (int cell = 0; cell < kCells; ++cell) {
    const double z = -kFarthest + cell * kStep;
    const double up_to = std::pow(normal_cdf(z + kStep), n);
    expected += std::exp(mu_ + sigma_ * (z + kStep / 2)) * (up_to - below);
    below = up_to;
  }
  return expected;
}

std::vector<double> DelayLaw::max_points_s(int n, int points) const {
  CHECK(points > 0, "a law needs points to stand for it");
  if (n == 0 || sigma_ == 0) {
    return std::vector<double>(static_cast<std::size_t>(points), n == 0 ? 0 : mean_s_);
  }
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(points));
  for (int k = 0; k < points; ++k) {
    values.push_back(quantile_s(std::pow((k + 0.5) / points, 1.0 / n)));
  }
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / points;
  const double scale = expected_max_s(n) / mean;
  for (double& value : values) {
    value *= scale;
  }
  return values;
}

Delay prototype_switch_delay(int pairs) {
  CHECK(pairs >= 1, "a switch moves at least one pair");
  return Delay{SimTime::from_us(41'000) + SimTime::from_us(360) * pairs,
               SimTime::from_us(59'700) + SimTime::from_us(520) * pairs};
}

SwitchDevice prototype_device() {
  return SwitchDevice{prototype_switch_delay(1),
                      prototype_switch_delay(2).mean - prototype_switch_delay(1).mean,
                      Delay{SimTime::from_ms(5670), SimTime::from_ms(6330)}};
}

DarkTimes::DarkTimes(const SwitchDevice& device)
    : device_(device), switching_(device.switching), relink_(device.relink) {}

const DarkTimes::Points& DarkTimes::points(int changed) {
  const auto at = static_cast<std::size_t>(changed);
  if (points_.size() <= at) {
    points_.resize(at + 1);
  }
  Points& entry = points_[at];
  if (entry.switching.empty()) {
    const double further = device_.per_circuit.seconds() * (changed - 1);
    const bool constant = switching_.sigma() == 0 && relink_.sigma() == 0;
    entry.switching = switching_.max_points_s(1, constant ? 1 : kPoints);
    for (double& value : entry.switching) {
      value += further;
    }
    entry.relink = relink_.max_points_s(2 * changed, constant ? 1 : kPoints);
  }
  return entry;
}

double DarkTimes::mean_s(int changed) {
  CHECK(changed >= 0, "a number of circuits is not negative");
  if (changed == 0) {
    return 0;
  }
  return switching_.mean_s() + device_.per_circuit.seconds() * (changed - 1) +
         relink_.expected_max_s(2 * changed);
}

double DarkTimes::exposed_s(int changed, SimTime window) {
  CHECK(changed >= 0, "a number of circuits is not negative");
  if (changed == 0) {
    return 0;
  }
  const Points& at = points(changed);
  double sum = 0;
  for (const double switching : at.switching) {
    for (const double relink : at.relink) {
      sum += std::max(0.0, switching + relink - window.seconds());
    }
  }
  return sum / static_cast<double>(at.switching.size() * at.relink.size());
}

}  // namespace mixnet::plan
