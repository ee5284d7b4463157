#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/study.h"
#include "sim/demand.h"
#include "sim/policies.h"

namespace mixnet::sim {

using CircuitsId = int;  // equal ids are equal circuits
using TargetId = int;    // a demand that circuits are wanted for

// Every wiring that one iteration needs, decided once.
class CircuitBook {
 public:
  struct Policies {
    WiringPolicy wiring;
    PredictPolicy predict;  // may be empty
  };
  CircuitBook(const Study& study, const Placement& placement, const Policies& policies,
              DemandTable& demand);

  // Names circuits that were decided elsewhere.
  CircuitsId intern(const Matrix<int>& circuits);

  // Equal demand between all servers.
  TargetId uniform();
  // One layer's demand.
  TargetId layer(const DemandKey& key);
  // What is expected of a forward dispatch; nothing if nothing was seen before.
  std::optional<TargetId> forecast(int micro_batch, int moe_layer, int copy);
  // The summed demand of all layers of a stage, both directions.
  enum class When {
    kBefore,  // in the last iteration, as far as the trace has it
    kNow,     // in this iteration
  };
  TargetId stage(int stage, int copy, When when);
  // The same for one pass of a micro-batch, or the pass seen before it; nothing if there is none.
  TargetId pass(int stage, int copy, int micro_batch);
  std::optional<TargetId> pass_before(int stage, int copy, int micro_batch);

  // The best circuits for a target.
  CircuitsId wired(TargetId target);
  // What the partial policy would have, coming from `present`; `uses` as in ChangeRequest.
  CircuitsId changed(TargetId target, CircuitsId present, double uses);

  // How a demand (or its transpose) travels over the given circuits.
  const Wiring& shares(CircuitsId circuits, const DemandKey& key, bool transposed);
  const Matrix<int>& circuits(CircuitsId id) const { return known_[static_cast<std::size_t>(id)]; }

 private:
  struct Steps {
    int64_t first = 0;
    int64_t count = 0;
    auto operator<=>(const Steps&) const = default;
  };
  struct Target {
    DemandMatrix demand;
    std::optional<DemandKey> exact;  // it is this layer's
    CircuitsId wired = -1;
  };
  TargetId add(DemandMatrix demand);
  Target& target(TargetId id) { return targets_[static_cast<std::size_t>(id)]; }
  TargetId over_steps(int stage, int copy, Steps steps);
  DemandMatrix predicted(const DemandKey& key);

  Study study_;
  Placement placement_;
  Policies policies_;
  DemandTable& demand_;  // outlives the book
  std::vector<Matrix<int>> known_;
  std::map<std::vector<int>, CircuitsId> ids_;
  std::vector<Target> targets_;
  std::optional<TargetId> uniform_;
  std::map<DemandKey, TargetId> layers_;
  std::map<DemandKey, TargetId> forecasts_;
  std::map<std::tuple<int, int, Steps>, TargetId> stages_;
  std::map<std::tuple<TargetId, CircuitsId, double>, CircuitsId> changed_;
  std::map<std::tuple<CircuitsId, DemandKey, bool>, Wiring> shares_;
};

}  // namespace mixnet::sim
