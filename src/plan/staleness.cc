#include "plan/staleness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"

namespace mixnet::plan {
namespace {

constexpr int kAverageOver = 16;  // iterations in the averaged demand
constexpr int kReferenceOver = 8;
// The finer cadences need wire() calls, so they are measured in every iteration only at first.
constexpr int kFineAtFirst = 8;
constexpr int64_t kFineEvery = 4;

void move_towards(double& value, double goal, int64_t samples, int64_t memory) {
  value += (goal - value) / static_cast<double>(std::min(samples, memory));
}

int64_t power_of_two(std::size_t k) { return int64_t{1} << k; }

void blend(DemandMatrix& average, const DemandMatrix& demand, int64_t samples) {
  for (std::size_t c = 0; c < demand.cells().size(); ++c) {
    move_towards(average.cells()[c], demand.cells()[c], samples, kAverageOver);
  }
}

double average(const std::vector<double>& samples, std::size_t newest) {
  double sum = 0;
  for (std::size_t k = samples.size() - newest; k < samples.size(); ++k) {
    sum += samples[k];
  }
  return sum / static_cast<double>(newest);
}

void push_bounded(std::vector<double>& samples, double x, std::size_t most) {
  if (samples.size() == most) {
    samples.erase(samples.begin());
  }
  samples.push_back(x);
}

}  // namespace

void RunningMean::add(double x) {
  ++count_;
  const double weight = 1.0 / std::min(count_, kMemory);
  const double off = x - mean_;
  mean_ += weight * off;
  variance_ += weight * ((1 - weight) * off * off - variance_);
}

double RunningMean::error() const {
  const int samples = std::min(count_, kMemory);
  return samples < 2 ? 0 : std::sqrt(variance_ / (samples - 1));
}

void HeldExcess::add(double excess, bool same_circuits) {
  if (!same_circuits) {
    samples_.clear();
  }
  if (!samples_.empty() && std::isfinite(excess) && std::isfinite(samples_.back())) {
    const double step = excess - samples_.back();
    push_bounded(differences_, step * step / 2, kWindow);
  }
  push_bounded(samples_, excess, kWindow);
}

HeldExcess::Estimate HeldExcess::estimate(double confidence) const {
  if (samples_.empty()) {
    return {};
  }
  if (!std::isfinite(samples_.back())) {
    return {samples_.back(), samples_.back()};  // without any way: no matter of noise
  }
  if (differences_.empty()) {
    return {samples_.back(), std::min(0.0, samples_.back())};
  }
  const double noise = std::sqrt(average(differences_, differences_.size()));
  Estimate best{samples_.back(), samples_.back() - confidence * noise};
  for (std::size_t w = 2; w <= samples_.size(); w *= 2) {
    const double mean = average(samples_, w);
    const double at_least = mean - confidence * noise / std::sqrt(static_cast<double>(w));
    if (at_least > best.at_least) {
      best = Estimate{mean, at_least};
    }
  }
  return best;
}

void FineCadence::add(const FineTimes& times, double fresh_s) {
  if (!(fresh_s > 0) || !std::isfinite(fresh_s) || !std::isfinite(times.all_to_all_s)) {
    return;
  }
  excess.add(times.all_to_all_s / fresh_s - 1);
  block_s.add(times.block_s);
  detour_s.add(times.detour_s);
}

Staleness::Staleness(Region region, StalenessOptions options)
    : region_(std::move(region)), options_(options) {
  CHECK(options_.longest_lag >= 1 && options_.sample >= 1, "something is looked at");
  std::size_t classes = 1;
  while (power_of_two(classes) <= options_.longest_lag) {
    ++classes;
  }
  lags_.resize(classes);
}

// Evenly spaced, beginning one further in every iteration, so that all have their turn.
Staleness::Sample Staleness::take_sample(const IterationLoad& load) const {
  const std::size_t all = load.demand.size();
  const std::size_t wanted = std::min(all, static_cast<std::size_t>(options_.sample));
  Sample sample;
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t at = (k * all / wanted + static_cast<std::size_t>(iterations_)) % all;
    sample.matrices.push_back(&load.demand[at]);
  }
  return sample;
}

double Staleness::excess(const Sample& sample, const Matrix<int>& circuits) const {
  double time = 0;
  for (const DemandMatrix* demand : sample.matrices) {
    time += completion_over(region_, *demand, circuits);
  }
  return time / sample.reference - 1;
}

void Staleness::observe_drift(const DemandMatrix& demand) {
  const DemandMatrix& last = known(Target::kLast).demand;
  double now = 0;
  double before = 0;
  for (std::size_t c = 0; c < demand.cells().size(); ++c) {
    now += demand.cells()[c];
    before += last.empty() ? 0 : last.cells()[c];
  }
  if (now <= 0 || before <= 0) {
    return;
  }
  double moved = 0;
  for (std::size_t c = 0; c < demand.cells().size(); ++c) {
    moved += std::abs(demand.cells()[c] / now - last.cells()[c] / before) / 2;
  }
  drift_.add(moved);
}

// Circuits of class k are looked at while they are 2^k to 2^(k+1) - 1 iterations old, then the
// class takes those of the last iteration: one wiring per class and target, and a lag is met all
// the time by one class only.
void Staleness::observe_lags(const Sample& sample) {
  for (std::size_t k = 0; k < lags_.size(); ++k) {
    Lag& at = lags_[k];
    const int64_t age = iterations_ - at.taken;
    if (at.taken >= 0 && age >= power_of_two(k)) {
      std::array<double, kTargets> x{};
      for (std::size_t target = 0; target < kTargets; ++target) {
        x[target] = excess(sample, at.circuits[target]);
      }
      if (std::isfinite(x[0]) && std::isfinite(x[1])) {
        at.excess[0].add(x[0]);
        at.excess[1].add(x[1]);
        at.age.add(static_cast<double>(age));
      }
    }
    if (at.taken < 0 || age >= power_of_two(k + 1) - 1) {
      at.taken = iterations_;
      for (std::size_t target = 0; target < kTargets; ++target) {
        at.circuits[target] = known_[target].circuits;
      }
    }
  }
}

void Staleness::observe_average(const IterationLoad& load, const DemandMatrix& demand) {
  const auto wanted = static_cast<std::size_t>(options_.sample);
  const std::size_t all = load.demand.size();
  std::vector<DemandMatrix> spread;
  for (std::size_t k = 0; k < std::min(all, wanted); ++k) {
    spread.push_back(load.demand[k * all / std::min(all, wanted)]);
  }
  Known& average = known(Target::kAverage);
  if (average.matrices.size() != spread.size()) {
    average = Known{demand, spread, known(Target::kLast).circuits};
  } else {
    blend(average.demand, demand, iterations_ + 1);
    for (std::size_t k = 0; k < spread.size(); ++k) {
      blend(average.matrices[k], spread[k], iterations_ + 1);
    }
    average.circuits = circuits_for(region_, average.demand);
  }
  known(Target::kLast).matrices = std::move(spread);
}

// Passes r - 1 and r of the iteration, r in turn: what the circuits for the one cost the other.
void Staleness::observe_passes(const IterationLoad& load, DarkTimes& dark) {
  const std::size_t rows = load.rows();
  if (rows < 2) {
    return;
  }
  const std::size_t row = 1 + static_cast<std::size_t>(passes_.excess.count()) % (rows - 1);
  const Matrix<int> before = circuits_for(region_, summed_demand(load, row - 1));
  const Matrix<int> own = circuits_for(region_, summed_demand(load, row));
  const Matrix<int>& fresh = known(Target::kLast).circuits;
  const FineTimes whole = pass_times(region_, load, row, {fresh, fresh}, dark);
  passes_.add(pass_times(region_, load, row, {own, before}, dark), whole.all_to_all_s);
}

// Two neighbouring matrices, in turn: the circuits change from those for the one to the other's.
void Staleness::observe_layers(const IterationLoad& load, DarkTimes& dark) {
  const std::size_t all = load.demand.size();
  const std::size_t at = static_cast<std::size_t>(layers_.excess.count()) % all;
  const bool seen = last_matrices_.size() == all;
  if (!seen && at == 0) {
    return;
  }
  const DemandMatrix& demand = load.demand[at];
  const Matrix<int> own = circuits_for(region_, demand);
  const Matrix<int> before =
      circuits_for(region_, at > 0 ? load.demand[at - 1] : last_matrices_[all - 1]);
  const bool guesses =
      std::any_of(load.layer_switches.begin(), load.layer_switches.end(),
                  [](const LayerSwitch& one) { return one.foresight == Foresight::kLast; });
  const Matrix<int> guess = guesses && seen ? circuits_for(region_, last_matrices_[at]) : own;
  const double fresh = completion_over(region_, demand, known(Target::kLast).circuits) *
                       load.all_to_alls * region_.seconds_per_unit;
  layers_.add(layer_times(region_, load, demand, {before, guess, own}, dark), fresh);
}

void Staleness::observe(const IterationLoad& load, const Matrix<int>& circuits, DarkTimes& dark,
                        Fine fine) {
  CHECK(load.layers > 0 && !load.demand.empty() &&
            load.demand.size() == load.rows() * static_cast<std::size_t>(load.layers),
        "demand of every layer, once or per micro-batch");
  const DemandMatrix demand = summed_demand(load);
  CHECK(circuits.rows() == demand.rows(), "circuits of the servers of the demand");
  observe_drift(demand);
  known(Target::kLast).demand = demand;
  known(Target::kLast).circuits = circuits_for(region_, demand);
  Sample sample = take_sample(load);
  for (const DemandMatrix* matrix : sample.matrices) {
    sample.reference += completion_over(region_, *matrix, known(Target::kLast).circuits);
  }
  const double now_s = sample.reference * static_cast<double>(load.demand.size()) /
                       static_cast<double>(sample.matrices.size()) * load.repeats() *
                       region_.seconds_per_unit;
  if (!(sample.reference > 0) || !std::isfinite(sample.reference)) {
    reference_s_ = now_s;
    return;  // nothing to compare with; what is known stays
  }
  if (iterations_ == 0 || !std::isfinite(reference_s_)) {
    reference_s_ = now_s;
  } else {
    move_towards(reference_s_, now_s, iterations_ + 1, kReferenceOver);
  }
  observe_average(load, demand);
  observe_lags(sample);
  held_.add(excess(sample, circuits), circuits == held_circuits_);
  held_circuits_ = circuits;
  const auto due = [this](const FineCadence& at, int64_t turn) {
    return at.excess.count() < kFineAtFirst || iterations_ % kFineEvery == turn;
  };
  if (fine.passes && due(passes_, 0)) {
    observe_passes(load, dark);
  }
  if (fine.layers && !load.layer_switches.empty()) {
    if (due(layers_, kFineEvery / 2)) {
      observe_layers(load, dark);
    }
    last_matrices_ = load.demand;
  }
  ++iterations_;
}

double Staleness::excess_at(Target target, int64_t lag) const {
  const auto which = static_cast<std::size_t>(target);
  const double x = static_cast<double>(lag);
  double age_before = 0;
  double before = 0;
  for (const Lag& at : lags_) {
    if (at.age.count() == 0) {
      break;
    }
    const double here = at.excess[which].mean();
    const double age = at.age.mean();
    if (x <= age) {
      return age_before == 0 ? here
                             : before + (here - before) * (x - age_before) / (age - age_before);
    }
    before = here;
    age_before = age;
  }
  return before;
}

}  // namespace mixnet::plan
