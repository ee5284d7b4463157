#pragma once

#include <vector>

#include "core/cadence.h"
#include "core/units.h"

// Delays that vary from one occurrence to the next.
//
// core/cadence.h has the law of a Delay.
//
// Published (MixNet, SIGCOMM 2025, section 6 and appendix C): T_OCS 41.44 / 42.44 / 46.75 ms with
// p99 60 / 62 / 68 ms for 1 / 4 / 16 pairs; T_NIC 5.67 s with p99 6.33 s.
namespace mixnet::plan {

class DelayLaw {
 public:
  explicit DelayLaw(const Delay& delay);

  double mean_s() const { return mean_s_; }
  double sigma() const { return sigma_; }
  // Smallest t with P(delay <= t) >= p, 0 < p < 1.
  double quantile_s(double p) const;
  double p99_s() const { return quantile_s(0.99); }
  // P(delay <= t).
  double cdf(double t_s) const;
  // Expected largest of n independent delays: when all of n NICs are back. 0 for n = 0. By
  // integration over the normal variable, relative error below 1e-4.
  double expected_max_s(int n) const;
  // `points` equally likely values that stand for the largest of n delays, ascending: quantiles at
  // the middle of each share, scaled to the expected largest.
  std::vector<double> max_points_s(int n, int points) const;

 private:
  double mean_s_ = 0;
  double mu_ = 0;
  double sigma_ = 0;  // 0: constant
};

// A switch with the NICs behind it.
struct SwitchDevice {
  Delay switching;      // T_OCS of a change of one circuit
  SimTime per_circuit;  // added by every further circuit of the same change
  Delay relink;         // T_NIC of one NIC
};

// T_OCS of the MixNet prototype (Polatis switch over TL1) for `pairs` >= 1 cross-connects of one
// command: mean 41.0 ms + 0.36 ms per pair, p99 59.7 ms + 0.52 ms per pair. Least-squares fits of
// the measured means 41.44, 42.44 and 46.75 ms and p99s 60, 62 and 68 ms for 1, 4 and 16 pairs
// (appendix C), off by at most 0.09 ms and 0.25 ms there.
Delay prototype_switch_delay(int pairs);

// The prototype with its ConnectX-6 NICs: T_NIC 5.67 s, p99 6.33 s.
SwitchDevice prototype_device();

// How long changes of `changed` circuits stick out of windows. Remembers what it computed.
class DarkTimes {
 public:
  explicit DarkTimes(const SwitchDevice& device);

  // Expected T_OCS + slowest of the 2 * changed NICs, in seconds; 0 for changed = 0.
  double mean_s(int changed);
  // E max(0, T_OCS + slowest NIC - window). T_OCS and T_NIC are independent.
  double exposed_s(int changed, SimTime window);

 private:
  struct Points {
    std::vector<double> switching;
    std::vector<double> relink;
  };
  const Points& points(int changed);

  SwitchDevice device_;
  DelayLaw switching_;
  DelayLaw relink_;
  std::vector<Points> points_;  // [changed]
};

}  // namespace mixnet::plan
