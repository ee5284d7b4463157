#pragma once

#include "core/random.h"
#include "core/units.h"

namespace mixnet {

// When a region is re-wired, from the rarest to the most frequent.
enum class Cadence {
  kNever,      // circuits for uniform demand, laid before anything is known: a static network
  kOnce,       // once before the first iteration, for the demand seen last
  kEvery,      // before every k-th iteration, for the demand seen last
  kIteration,  // before every iteration, for the summed demand of the region's layers
  kStage,      // before every pass of a micro-batch through the stage, forward and backward
  kLayer,      // per MoE layer of every micro-batch, forward and backward
  kAuto,       // decided while running, from past data (plan/cadence)
};

// Which circuits a re-wiring may touch.
enum class ChangeScope {
  kWhole,    // all that differ from the best wiring for the demand
  kPartial,  // only those whose change pays for the darkness that it causes
};

// What traffic does whose circuit is dark.
enum class Darkness {
  kBlock,   // waits until every changed circuit is up again, as in the paper
  kDetour,  // uses the circuits that are up, relays and the electrical NICs (make-before-break)
};

// A delay that varies from one occurrence to the next: log-normal with this mean and 99th
// percentile; constant if p99 <= mean.
struct Delay {
  SimTime mean;
  SimTime p99;
  bool varies() const { return p99 > mean && mean > SimTime(); }
};

// Who says what the next all-to-all will send (plan/predict).
enum class Predictor {
  kUnchanged,  // as last time
  kAverage,    // exponential average of what was seen
  kCopilot,    // least squares from the layer before (MixNet-Copilot)
  kBest,       // whichever has predicted best so far
};

// exp(N(mu, sigma)), in seconds.
struct LogNormal {
  double mu = 0;
  double sigma = 0;
};
// The law of a delay that varies. With z the normal 99th percentile, ln(p99 / mean) = z sigma -
// sigma^2 / 2; of the two solutions the smaller one, whose mode is beside the mean. Beyond p99 =
// exp(z^2 / 2) * mean = 14.97 * mean none has both: then sigma = z, the widest law of that mean.
LogNormal log_normal_of(const Delay& delay);

// The longest delay that draw_delay() gives: four standard deviations above the log-normal's
// median, which 3 draws of 100,000 exceed.
SimTime longest_delay(const Delay& delay);
// One occurrence. Draws from `random` only if the delay varies. The p99 is at most kMostSpread
// times the mean: beyond that no log-normal has both.
SimTime draw_delay(const Delay& delay, RandomStream& random);
inline constexpr double kMostSpread = 14.9;

const char* predictor_name(Predictor predictor);
const char* cadence_name(Cadence cadence);
const char* change_scope_name(ChangeScope scope);
const char* darkness_name(Darkness darkness);

}  // namespace mixnet
