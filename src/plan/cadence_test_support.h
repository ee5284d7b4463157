#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "plan/cadence.h"
#include "plan/cadence_run.h"
#include "plan/region_time.h"

// Demand sequences with known drift for the tests of plan/cadence.
namespace mixnet::plan::test_support {

struct DriftingDemand {
  std::size_t servers = 8;
  int layers = 2;
  double sigma = 1;  // of the log-normal demand of a pair
  // Every iteration the logarithms keep the share sqrt(1 - step^2) and take step of new ones: the
  // skew stays, the pattern wanders. 0: constant, 1: new every time.
  double step = 0;
  uint64_t seed = 1;
};

// Demand in seconds of one NIC. One all-to-all of mean size takes about `scale_s`.
inline std::vector<IterationLoad> drifting_trace(const DriftingDemand& of, int iterations,
                                                 const IterationLoad& shape, double scale_s) {
  RandomStream random(of.seed, "cadence test");
  const std::size_t n = of.servers;
  std::vector<Matrix<double>> logs(static_cast<std::size_t>(of.layers), Matrix<double>(n, n));
  for (Matrix<double>& layer : logs) {
    for (double& x : layer.cells()) {
      x = random.normal();
    }
  }
  std::vector<IterationLoad> trace;
  const double keep = std::sqrt(1 - of.step * of.step);
  for (int t = 0; t < iterations; ++t) {
    IterationLoad load = shape;
    load.layers = of.layers;
    load.demand.clear();
    for (Matrix<double>& layer : logs) {
      DemandMatrix demand(n, n);
      for (std::size_t c = 0; c < demand.cells().size(); ++c) {
        demand.cells()[c] = scale_s * std::exp(of.sigma * layer.cells()[c]);
        layer.cells()[c] = keep * layer.cells()[c] + of.step * random.normal();
      }
      load.demand.push_back(std::move(demand));
    }
    trace.push_back(std::move(load));
  }
  return trace;
}

// Circuits for uniform demand: a network laid before anything is known.
inline Matrix<int> uniform_circuits(const Region& region, std::size_t n) {
  return circuits_for(region, DemandMatrix(n, n, 1.0));
}

inline SwitchDevice constant_device(double switch_s, double relink_s) {
  return SwitchDevice{Delay{SimTime::from_seconds(switch_s), SimTime()}, SimTime(),
                      Delay{SimTime::from_seconds(relink_s), SimTime()}};
}

inline CadenceTrial trial_of(const SwitchDevice& device, std::size_t n = 8, int alpha = 6,
                             int eps = 2) {
  CadenceTrial trial;
  trial.region = Region{alpha, eps, Allocator::kSplit, 1};
  trial.device = device;
  trial.laid = uniform_circuits(trial.region, n);
  return trial;
}

// About two seconds of all-to-alls and one of everything else.
inline IterationLoad busy_shape() {
  IterationLoad shape;
  shape.micro_batches = 16;
  shape.other = SimTime::from_ms(1000);
  shape.iteration_window = SimTime::from_ms(20);
  shape.pass_window = SimTime::from_ms(5);
  shape.layer_switches = layer_switches(DispatchMode::kBlock, SimTime::from_ms(5),
                                        SimTime::from_ms(15), SimTime::from_ms(10));
  return shape;
}

constexpr double kScale = 0.005;

inline int count(const CadenceRun& run, CadenceMode mode, std::size_t from, std::size_t to) {
  int sum = 0;
  for (std::size_t t = from; t < to; ++t) {
    sum += run.decisions[t].mode == mode ? 1 : 0;
  }
  return sum;
}

}  // namespace mixnet::plan::test_support
