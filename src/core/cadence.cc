#include "core/cadence.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace mixnet {
namespace {

constexpr double kZ99 = 2.3263478740408408;  // 99th percentile of the standard normal
constexpr double kMostZ = 4;

}  // namespace

LogNormal log_normal_of(const Delay& delay) {
  CHECK(delay.varies(), "a constant delay has no spread");
  const double spread = std::log(delay.p99.seconds() / delay.mean.seconds());
  const double sigma = kZ99 - std::sqrt(std::max(0.0, kZ99 * kZ99 - 2 * spread));
  return {std::log(delay.mean.seconds()) - sigma * sigma / 2, sigma};
}

SimTime longest_delay(const Delay& delay) {
  if (!delay.varies()) {
    return delay.mean;
  }
  const LogNormal shape = log_normal_of(delay);
  return SimTime::from_seconds(std::exp(shape.mu + kMostZ * shape.sigma));
}

SimTime draw_delay(const Delay& delay, RandomStream& random) {
  if (!delay.varies()) {
    return delay.mean;
  }
  const LogNormal shape = log_normal_of(delay);
  const double z = std::clamp(random.normal(), -kMostZ, kMostZ);
  return SimTime::from_seconds(std::exp(shape.mu + shape.sigma * z));
}

const char* predictor_name(Predictor predictor) {
  switch (predictor) {
    case Predictor::kUnchanged:
      return "unchanged";
    case Predictor::kAverage:
      return "average";
    case Predictor::kCopilot:
      return "copilot";
    case Predictor::kBest:
      return "best";
  }
  CHECK(false, "unknown predictor");
}

const char* cadence_name(Cadence cadence) {
  switch (cadence) {
    case Cadence::kNever:
      return "never";
    case Cadence::kOnce:
      return "once";
    case Cadence::kEvery:
      return "every";
    case Cadence::kIteration:
      return "iteration";
    case Cadence::kStage:
      return "stage";
    case Cadence::kLayer:
      return "layer";
    case Cadence::kAuto:
      return "auto";
  }
  CHECK(false, "unknown cadence");
}

const char* change_scope_name(ChangeScope scope) {
  switch (scope) {
    case ChangeScope::kWhole:
      return "whole";
    case ChangeScope::kPartial:
      return "partial";
  }
  CHECK(false, "unknown scope of change");
}

const char* darkness_name(Darkness darkness) {
  switch (darkness) {
    case Darkness::kBlock:
      return "block";
    case Darkness::kDetour:
      return "detour";
  }
  CHECK(false, "unknown handling of darkness");
}

}  // namespace mixnet
