#include "ocs/switch_latency.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace mixnet::ocs {
namespace {

constexpr double kNormalP99 = 2.3263478740408408;

Duration of_seconds(double seconds) {
  return std::chrono::round<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Duration draw_switching(const SwitchingModel& model, int pairs, RandomStream& random) {
  CHECK(pairs >= 1, "switching nothing takes no time");
  if (model.fixed) {
    return *model.fixed;
  }
  const double mean = model.base_ms + model.per_pair_ms * pairs - model.floor_ms;
  if (mean <= 0) {
    return of_seconds(model.floor_ms * 1e-3);
  }
  // The mean of a log-normal is exp(mu + spread^2 / 2).
  const double mu = std::log(mean) - model.spread * model.spread / 2;
  return of_seconds((model.floor_ms + random.log_normal(mu, model.spread)) * 1e-3);
}

Duration draw_relink(const RelinkModel& model, RandomStream& random) {
  if (model.fixed) {
    return *model.fixed;
  }
  const double deviation = (model.p99_s - model.mean_s) / kNormalP99;
  return of_seconds(std::max(model.mean_s / 2, model.mean_s + deviation * random.normal()));
}

}  // namespace mixnet::ocs
