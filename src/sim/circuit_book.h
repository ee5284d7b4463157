#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "core/study.h"
#include "core/wiring.h"
#include "sim/demand.h"

namespace mixnet::sim {

// The decisions that the simulator asks for; the caller joins them to plan/wire. Both are pure.
struct WiringPolicy {
  // Circuits and shares for a demand between the servers of a region.
  std::function<Wiring(const DemandMatrix&)> wire;
  // Shares of a demand over circuits that are already there.
  std::function<Wiring(const DemandMatrix&, const Matrix<int>&)> route;
};

using CircuitsId = int;  // equal ids are equal circuits

// Every wiring that a run needs, decided once.
class CircuitBook {
 public:
  CircuitBook(const Study& study, const Placement& placement, WiringPolicy policy,
              DemandTable& demand);

  // Circuits for one layer's demand.
  CircuitsId for_layer(const DemandKey& key);
  // Circuits for the summed demand of all layers of a region, both directions: as last seen before
  // the iteration, or as the iteration will have it.
  enum class When { kBefore, kNow };
  CircuitsId for_stage(int stage, int copy, When when);
  // How a demand (or its transpose) travels over the given circuits.
  const Wiring& shares(CircuitsId circuits, const DemandKey& key, bool transposed);
  const Matrix<int>& circuits(CircuitsId id) const { return known_[static_cast<std::size_t>(id)]; }

 private:
  CircuitsId intern(const Matrix<int>& circuits);
  DemandMatrix stage_demand(int stage, int copy, When when);

  Study study_;
  Placement placement_;
  WiringPolicy policy_;
  DemandTable& demand_;  // outlives the book
  std::vector<Matrix<int>> known_;
  std::map<std::vector<int>, CircuitsId> ids_;
  std::map<DemandKey, CircuitsId> by_layer_;
  std::map<std::tuple<int, DemandKey, When>, CircuitsId> by_stage_;
  std::map<std::tuple<CircuitsId, DemandKey, bool>, Wiring> shares_;
};

}  // namespace mixnet::sim
