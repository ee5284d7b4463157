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

CircuitsId CircuitBook::for_stage(int stage, int copy) {
  const StageLayers layers = stage_layers(study_.model, study_.parallelism.pp, stage);
  const DemandKey name = demand_.key(0, 0, copy);
  const auto it = by_stage_.find({stage, name});
  if (it != by_stage_.end()) {
    return it->second;
  }
  const auto n = static_cast<std::size_t>(placement_.region_servers());
  DemandMatrix sum(n, n);
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    const int moe = moe_index(study_.model, layer);
    if (moe < 0) {
      continue;
    }
    const DemandMatrix& d = demand_.at(demand_.key(0, moe, copy)).servers;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        sum(i, j) += d(i, j) + d(j, i);
      }
    }
  }
  const CircuitsId id = intern(policy_.wire(sum).circuits);
  by_stage_.emplace(std::pair(stage, name), id);
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
