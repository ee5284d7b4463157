#include "sim/circuit_book.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "sim/program.h"

namespace mixnet::sim {
namespace {

// Circuits are duplex, so the combine uses the dispatch's shares in the other direction.
Wiring reversed(const Wiring& wiring) {
  Wiring r = wiring;
  r.circuit = transposed(wiring.circuit);
  r.eps = transposed(wiring.eps);
  for (RelayShare& relay : r.relay) {
    std::swap(relay.src, relay.dst);
  }
  return r;
}

void add_both_directions(DemandMatrix& sum, const DemandMatrix& d) {
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      sum(i, j) += d(i, j) + d(j, i);
    }
  }
}

}  // namespace

CircuitBook::CircuitBook(const Study& study, const Placement& placement, const Policies& policies,
                         DemandTable& demand)
    : study_(study), placement_(placement), policies_(policies), demand_(demand) {}

CircuitsId CircuitBook::intern(const Matrix<int>& circuits) {
  const auto cells = circuits.cells();
  const auto [it, inserted] = ids_.try_emplace(std::vector<int>(cells.begin(), cells.end()),
                                               static_cast<CircuitsId>(known_.size()));
  if (inserted) {
    known_.push_back(circuits);
  }
  return it->second;
}

TargetId CircuitBook::add(DemandMatrix demand) {
  targets_.push_back(Target{std::move(demand), std::nullopt, -1});
  return static_cast<TargetId>(targets_.size()) - 1;
}

TargetId CircuitBook::uniform() {
  if (!uniform_) {
    const auto n = static_cast<std::size_t>(placement_.region_servers());
    DemandMatrix demand(n, n, 1.0);
    for (std::size_t i = 0; i < n; ++i) {
      demand(i, i) = 0;
    }
    uniform_ = add(std::move(demand));
  }
  return *uniform_;
}

TargetId CircuitBook::layer(const DemandKey& key) {
  const auto it = layers_.find(key);
  if (it != layers_.end()) {
    return it->second;
  }
  const TargetId id = add(demand_.at(key).servers);
  target(id).exact = key;
  layers_.emplace(key, id);
  return id;
}

std::optional<TargetId> CircuitBook::forecast(int micro_batch, int moe_layer, int copy) {
  if (!demand_.has_previous(micro_batch)) {
    return std::nullopt;
  }
  const DemandKey now = demand_.key(micro_batch, moe_layer, copy);
  const DemandKey before = demand_.previous_key(micro_batch, moe_layer, copy);
  // With one routing for all micro-batches the second one knows it.
  if (!policies_.predict || before == now) {
    return layer(before);
  }
  const auto it = forecasts_.find(now);
  if (it != forecasts_.end()) {
    return it->second;
  }
  const TargetId id = add(predicted(now));
  forecasts_.emplace(now, id);
  return id;
}

DemandMatrix CircuitBook::predicted(const DemandKey& key) {
  std::vector<int> stage;  // MoE layers that the region holds
  for (int s = 0; std::find(stage.begin(), stage.end(), key.layer) == stage.end(); ++s) {
    CHECK(s < study_.parallelism.pp, "a stage holds the layer");
    stage = moe_layers_of(study_.model, study_.parallelism.pp, s);
  }
  PredictionRequest request{key.step, key.layer, key.copy, nullptr};
  request.seen = [&](int64_t step, int64_t layer) -> std::optional<DemandMatrix> {
    const bool past = step < key.step || (step == key.step && layer < key.layer);
    if (!past || step < 0 || std::find(stage.begin(), stage.end(), layer) == stage.end()) {
      return std::nullopt;
    }
    return demand_.assignments({step, layer, key.copy});
  };
  const DemandMatrix expected = policies_.predict(request);
  CHECK(expected.rows() == static_cast<std::size_t>(placement_.expert_ranks()) &&
            expected.cols() == static_cast<std::size_t>(study_.model.experts),
        "a prediction counts assignments of every expert rank to every expert");
  return demand_.demand_of(expected).servers;
}

TargetId CircuitBook::over_steps(int stage, int copy, Steps steps) {
  // The key of any layer tells copies with routing of their own apart.
  const std::tuple name(stage, demand_.key(0, 0, copy).copy, steps);
  const auto it = stages_.find(name);
  if (it != stages_.end()) {
    return it->second;
  }
  const auto n = static_cast<std::size_t>(placement_.region_servers());
  DemandMatrix sum(n, n);
  for (const int moe : moe_layers_of(study_.model, study_.parallelism.pp, stage)) {
    for (int64_t step = steps.first; step < steps.first + steps.count; ++step) {
      add_both_directions(sum, demand_.at(demand_.key_at(step, moe, copy)).servers);
    }
  }
  const TargetId id = add(std::move(sum));
  stages_.emplace(name, id);
  return id;
}

TargetId CircuitBook::stage(int stage, int copy, When when) {
  const int64_t first = demand_.first_step();
  const int64_t steps = demand_.steps();
  if (when == When::kNow || first == 0) {
    return over_steps(stage, copy, {first, when == When::kNow ? steps : 1});
  }
  const int64_t before = std::min(steps, first);
  return over_steps(stage, copy, {first - before, before});
}

TargetId CircuitBook::pass(int stage, int copy, int micro_batch) {
  return over_steps(stage, copy, {demand_.key(micro_batch, 0, copy).step, 1});
}

std::optional<TargetId> CircuitBook::pass_before(int stage, int copy, int micro_batch) {
  if (!demand_.has_previous(micro_batch)) {
    return std::nullopt;
  }
  return over_steps(stage, copy, {demand_.previous_key(micro_batch, 0, copy).step, 1});
}

CircuitsId CircuitBook::wired(TargetId id) {
  if (target(id).wired < 0) {
    const Wiring wiring = policies_.wiring.wire(target(id).demand);
    target(id).wired = intern(wiring.circuits);
    if (target(id).exact) {
      shares_.try_emplace({target(id).wired, *target(id).exact, false}, wiring);
    }
  }
  return target(id).wired;
}

CircuitsId CircuitBook::changed(TargetId id, CircuitsId present, double uses) {
  CHECK(policies_.wiring.change, "partial changes need a policy");
  const auto it = changed_.find({id, present, uses});
  if (it != changed_.end()) {
    return it->second;
  }
  const CircuitsId next =
      intern(policies_.wiring.change({target(id).demand, circuits(present), uses}));
  changed_.emplace(std::tuple(id, present, uses), next);
  return next;
}

const Wiring& CircuitBook::shares(CircuitsId circuits, const DemandKey& key, bool transposed) {
  const auto it = shares_.find({circuits, key, transposed});
  if (it != shares_.end()) {
    return it->second;
  }
  Wiring wiring = transposed ? reversed(shares(circuits, key, false))
                             : policies_.wiring.route(demand_.at(key).servers,
                                                      known_[static_cast<std::size_t>(circuits)]);
  return shares_.emplace(std::tuple(circuits, key, transposed), std::move(wiring)).first->second;
}

}  // namespace mixnet::sim
