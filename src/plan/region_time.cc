#include "plan/region_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "plan/wire.h"
#include "plan/wire_split.h"

namespace mixnet::plan {
namespace {

WireProblem problem_of(const Region& region, const DemandMatrix& demand) {
  return WireProblem{demand, region.alpha, region.eps};
}

DemandMatrix sum_of(const IterationLoad& load, std::size_t first, std::size_t count) {
  CHECK(count > 0 && first + count <= load.demand.size(), "there is demand to sum");
  const std::size_t n = load.demand[first].rows();
  DemandMatrix sum(n, n, 0.0);
  for (std::size_t k = first; k < first + count; ++k) {
    CHECK(load.demand[k].rows() == n && load.demand[k].cols() == n,
          "all demand of a region has its size");
    for (std::size_t c = 0; c < n * n; ++c) {
      sum.cells()[c] += load.demand[k].cells()[c];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    sum(i, i) = 0;
  }
  return sum;
}

}  // namespace

std::vector<LayerSwitch> layer_switches(DispatchMode mode, SimTime attention, SimTime experts,
                                        SimTime backward) {
  switch (mode) {
    case DispatchMode::kBlock:
      return {{SimTime(), 2, Foresight::kExact}, {backward, 2, Foresight::kExact}};
    case DispatchMode::kPredict:
      return {{attention, 1, Foresight::kLast},
              {experts, 1, Foresight::kExact, false},
              {backward, 2, Foresight::kExact}};
    case DispatchMode::kReuse:
      return {{SimTime(), 1, Foresight::kNone},
              {experts, 1, Foresight::kExact},
              {backward, 2, Foresight::kExact}};
  }
  CHECK(false, "unknown dispatch mode");
}

DemandMatrix summed_demand(const IterationLoad& load) {
  return sum_of(load, 0, load.demand.size());
}

DemandMatrix summed_demand(const IterationLoad& load, std::size_t row) {
  const auto layers = static_cast<std::size_t>(load.layers);
  return sum_of(load, row * layers, layers);
}

double completion_over(const Region& region, const DemandMatrix& demand,
                       const Matrix<int>& circuits) {
  const WireProblem problem = problem_of(region, demand);
  if (region.allocator == Allocator::kSplit) {
    return split_time(problem, circuits);
  }
  return route_over(problem, circuits, region.allocator).completion;
}

double summed_completion(const Region& region, std::span<const DemandMatrix> matrices,
                         const Matrix<int>& circuits) {
  double sum = 0;
  for (const DemandMatrix& demand : matrices) {
    sum += completion_over(region, demand, circuits);
  }
  return sum;
}

Matrix<int> circuits_for(const Region& region, const DemandMatrix& demand) {
  return wire(problem_of(region, demand), region.allocator).circuits;
}

double all_to_all_s(const Region& region, const IterationLoad& load, const Matrix<int>& circuits) {
  double sum = 0;
  for (const DemandMatrix& demand : load.demand) {
    sum += completion_over(region, demand, circuits);
  }
  return sum * load.repeats() * region.seconds_per_unit;
}

CircuitChange change_between(const Matrix<int>& from, const Matrix<int>& to) {
  const std::size_t n = from.rows();
  CHECK(to.rows() == n && to.cols() == n && from.cols() == n, "circuits of one region");
  CircuitChange change;
  change.stays = Matrix<int>(n, n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      change.stays(i, j) = std::min(from(i, j), to(i, j));
      if (i < j) {
        change.removed += std::max(0, from(i, j) - to(i, j));
        change.added += std::max(0, to(i, j) - from(i, j));
      }
    }
  }
  return change;
}

double detour_loss_s(double exposed_s, double other_s, double stays_s, double new_s) {
  if (exposed_s == 0 || stays_s == std::numeric_limits<double>::infinity()) {
    return exposed_s;
  }
  const double whole = other_s + stays_s;
  return whole > 0 ? exposed_s * std::clamp((stays_s - new_s) / whole, 0.0, 1.0) : 0;
}

}  // namespace mixnet::plan
