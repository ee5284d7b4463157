#include "sim/circuit_book.h"

#include <utility>

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

}  // namespace

CircuitBook::CircuitBook(const Study& study, const Placement& placement, WiringPolicy policy,
                         DemandTable& demand)
    : study_(study), placement_(placement), policy_(std::move(policy)), demand_(demand) {}

CircuitsId CircuitBook::intern(const Matrix<int>& circuits) {
  const auto cells = circuits.cells();
  const auto [it, inserted] = ids_.try_emplace(std::vector<int>(cells.begin(), cells.end()),
                                               static_cast<CircuitsId>(known_.size()));
  if (inserted) {
    known_.push_back(circuits);
  }
  return it->second;
}

CircuitsId CircuitBook::for_layer(const DemandKey& key) {
  const auto it = by_layer_.find(key);
  if (it != by_layer_.end()) {
    return it->second;
  }
  const Wiring wiring = policy_.wire(demand_.at(key).servers);
  const CircuitsId id = intern(wiring.circuits);
  by_layer_.emplace(key, id);
  shares_.try_emplace({id, key, false}, wiring);
  return id;
}

DemandMatrix CircuitBook::stage_demand(int stage, int copy, When when) {
  const StageLayers layers = stage_layers(study_.model, study_.parallelism.pp, stage);
  const bool steps = when == When::kNow && study_.routing.per_micro_batch;
  const auto n = static_cast<std::size_t>(placement_.region_servers());
  DemandMatrix sum(n, n);
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    const int moe = moe_index(study_.model, layer);
    for (int m = 0; moe >= 0 && m < (steps ? study_.parallelism.micro_batches : 1); ++m) {
      const DemandKey key =
          when == When::kNow ? demand_.key(m, moe, copy) : demand_.history_key(moe, copy);
      const DemandMatrix& d = demand_.at(key).servers;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          sum(i, j) += d(i, j) + d(j, i);
        }
      }
    }
  }
  return sum;
}

CircuitsId CircuitBook::for_stage(int stage, int copy, When when) {
  // The key of any layer tells copies with routing of their own apart.
  const std::tuple name(stage, demand_.key(0, 0, copy), when);
  const auto it = by_stage_.find(name);
  if (it != by_stage_.end()) {
    return it->second;
  }
  const CircuitsId id = intern(policy_.wire(stage_demand(stage, copy, when)).circuits);
  by_stage_.emplace(name, id);
  return id;
}

const Wiring& CircuitBook::shares(CircuitsId circuits, const DemandKey& key, bool transposed) {
  const auto it = shares_.find({circuits, key, transposed});
  if (it != shares_.end()) {
    return it->second;
  }
  Wiring wiring = transposed ? reversed(shares(circuits, key, false))
                             : policy_.route(demand_.at(key).servers,
                                             known_[static_cast<std::size_t>(circuits)]);
  return shares_.emplace(std::tuple(circuits, key, transposed), std::move(wiring)).first->second;
}

}  // namespace mixnet::sim
