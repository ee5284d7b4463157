#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "plan/delay.h"
#include "plan/fine_times.h"
#include "plan/region_time.h"

// How much circuits lose that were chosen for another demand than the one they meet, measured on
// past iterations. The excess of circuits in an iteration is their all-to-all time over that of
// circuits chosen for the summed demand of that very iteration, minus 1.
namespace mixnet::plan {

// Mean and spread; all samples count alike up to kMemory, later ones push old ones out
// exponentially.
class RunningMean {
 public:
  static constexpr int kMemory = 64;

  void add(double x);
  int count() const { return count_; }
  double mean() const { return mean_; }
  // Standard error of the mean, as if samples were independent; 0 for fewer than two.
  double error() const;

 private:
  int count_ = 0;
  double mean_ = 0;
  double variance_ = 0;
};

// The excess of the circuits that are laid, over the last iterations since they were laid. Its
// noise is taken from successive differences (von Neumann), so that a jump counts as one
// difference and is believed at once, while demand that alternates is all noise.
class HeldExcess {
 public:
  void add(double excess, bool same_circuits);
  // Of the last 1, 2, 4, ... iterations the window whose mean minus `confidence` standard errors is
  // the largest: that mean, and what it is at least (not above 0 while no two iterations could be
  // compared).
  struct Estimate {
    double mean = 0;
    double at_least = 0;
  };
  Estimate estimate(double confidence) const;

 private:
  static constexpr std::size_t kWindow = 64;

  std::vector<double> samples_;      // newest last
  std::vector<double> differences_;  // squared, halved
};

struct StalenessOptions {
  int longest_lag = 1024;
  int sample = 8;  // matrices of an iteration that are looked at
};

// Wiring for every pass or every layer: excess (negative if better) and what the switches cost in
// seconds, per pass, or per layer and micro-batch.
struct FineCadence {
  RunningMean excess;
  RunningMean block_s;
  RunningMean detour_s;

  // `fresh_s`: the same all-to-alls over circuits for the summed demand of the iteration.
  void add(const FineTimes& times, double fresh_s);
};

class Staleness {
 public:
  Staleness(Region region, StalenessOptions options);

  // One iteration that has ended; `circuits` are laid at its end. `dark` prices the switches of
  // the finer cadences, which are measured only where `passes` and `layers` ask for it.
  struct Fine {
    bool passes = false;
    bool layers = false;
  };
  void observe(const IterationLoad& load, const Matrix<int>& circuits, DarkTimes& dark, Fine fine);

  int64_t iterations() const { return iterations_; }
  // A*, the mean of the last iterations; 0 without demand, +infinity if it has no way.
  double reference_s() const { return reference_s_; }
  const HeldExcess& held() const { return held_; }
  // Share of the bytes that go to another pair than in the iteration before.
  const RunningMean& drift() const { return drift_; }
  const FineCadence& passes() const { return passes_; }
  const FineCadence& layers() const { return layers_; }

  // Demand to wire for: that of the last iteration, or the average of about 16.
  enum class Target : uint8_t { kLast, kAverage };
  const DemandMatrix& demand(Target target) const { return known(target).demand; }
  // The matrices that it is the sum of, some if there are many.
  const std::vector<DemandMatrix>& matrices(Target target) const { return known(target).matrices; }
  const Matrix<int>& circuits(Target target) const { return known(target).circuits; }

  // q(a): mean excess of circuits chosen for the target `lag` >= 1 iterations earlier. Measured at
  // lags 1, 2, 4, ...; linear between, constant beyond the longest seen.
  double excess_at(Target target, int64_t lag) const;
  bool knows_lag() const { return lags_.front().age.count() > 0; }

 private:
  static constexpr std::size_t kTargets = 2;
  struct Known {
    DemandMatrix demand;
    std::vector<DemandMatrix> matrices;
    Matrix<int> circuits;
  };
  struct Lag {  // lags in [2^k, 2^(k+1))
    int64_t taken = -1;
    std::array<Matrix<int>, kTargets> circuits;
    std::array<RunningMean, kTargets> excess;
    RunningMean age;
  };
  // Matrices of the iteration that is observed, and their times over circuits for their sum.
  struct Sample {
    std::vector<const DemandMatrix*> matrices;
    double reference = 0;
  };

  Sample take_sample(const IterationLoad& load) const;
  double excess(const Sample& sample, const Matrix<int>& circuits) const;
  void observe_lags(const Sample& sample);
  void observe_average(const IterationLoad& load, const DemandMatrix& demand);
  const Known& known(Target target) const { return known_[static_cast<std::size_t>(target)]; }
  Known& known(Target target) { return known_[static_cast<std::size_t>(target)]; }
  void observe_drift(const DemandMatrix& demand);
  void observe_passes(const IterationLoad& load, DarkTimes& dark);
  void observe_layers(const IterationLoad& load, DarkTimes& dark);

  Region region_;
  StalenessOptions options_;
  int64_t iterations_ = 0;
  double reference_s_ = 0;
  std::array<Known, kTargets> known_;
  Matrix<int> held_circuits_;
  HeldExcess held_;
  RunningMean drift_;
  std::vector<Lag> lags_;
  FineCadence passes_;
  FineCadence layers_;
  std::vector<DemandMatrix> last_matrices_;
};

}  // namespace mixnet::plan
