#pragma once

#include <optional>

#include "core/instant.h"
#include "core/random.h"

// How long an optical switch needs for its mirrors, and a NIC for its link. Measured (MixNet,
// section 6 and appendix C): 41.44 / 42.44 / 46.75 ms for 1 / 4 / 16 pairs with a p99 of
// 60 / 62 / 68 ms; ConnectX-6 has its link back 5.67 s after the light, p99 6.33 s.
namespace mixnet::ocs {

// floor + log-normal, with the mean base + per_pair x pairs.
struct SwitchingModel {
  double base_ms = 41.1;
  double per_pair_ms = 0.36;
  double floor_ms = 20;  // no draw is below
  // Of the logarithm: the value that misses all three measured p99 by no more than 1.6 %.
  double spread = 0.275;
  std::optional<Duration> fixed;  // instead of all of the above
};
// pairs >= 1.
Duration draw_switching(const SwitchingModel& model, int pairs, RandomStream& random);

// Normal, at least half the mean.
struct RelinkModel {
  double mean_s = 5.67;
  double p99_s = 6.33;
  std::optional<Duration> fixed;
};
Duration draw_relink(const RelinkModel& model, RandomStream& random);

}  // namespace mixnet::ocs
