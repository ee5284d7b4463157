#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/matrix.h"
#include "core/moe_model.h"
#include "core/routing.h"
#include "sim/placement.h"

namespace mixnet::sim {

// Which expert-parallel all-to-all: equal keys have equal demand.
struct DemandKey {
  int64_t step = 0;   // index on the trace's first axis
  int64_t layer = 0;  // MoE layer of the model, from 0
  int copy = 0;       // 0 for all copies when the trace holds one routing for all of them
  auto operator<=>(const DemandKey&) const = default;
};

// Token assignments between expert ranks in one dispatch; the combine moves the transpose.
struct Demand {
  DemandMatrix ranks;       // ep x ep: from the rank that holds the token to the expert's rank
  DemandMatrix servers;     // region servers squared; the diagonal is traffic inside the server
  double slowest_rank = 0;  // most assignments that one rank computes
};

// Turns trace counts into demand between ranks and servers. Expert x belongs to rank
// x / (experts / ep).
class DemandTable {
 public:
  DemandTable(const MoeModel& model, const Parallelism& layout, const RoutingUse& use,
              const RoutingView& trace, const Placement& placement);

  // Key of the routing of `layer` in `micro_batch` of the simulated iteration.
  DemandKey key(int micro_batch, int moe_layer, int copy) const;
  DemandKey key_at(int64_t step, int moe_layer, int copy) const;
  // Routing steps of one iteration, and where the iteration's first one is on the trace.
  int64_t steps() const { return use_.per_micro_batch ? layout_.micro_batches : 1; }
  int64_t first_step() const { return use_.first_iteration; }
  // The last routing of the same layer that was seen before `micro_batch`; valid only if
  // has_previous().
  bool has_previous(int micro_batch) const;
  // The last routing before the iteration; the iteration's first if the trace starts with it.
  DemandKey history_key(int moe_layer, int copy) const;
  DemandKey previous_key(int micro_batch, int moe_layer, int copy) const;

  // Computed on first use and kept.
  const Demand& at(const DemandKey& key);

  // The counts behind at(key), scaled as the trace is used: expert ranks x experts.
  DemandMatrix assignments(const DemandKey& key) const;
  // What such counts mean for ranks and servers.
  Demand demand_of(const DemandMatrix& assignments) const;

 private:
  MoeModel model_;
  Parallelism layout_;
  RoutingUse use_;
  RoutingView trace_;
  Placement placement_;
  std::map<DemandKey, Demand> known_;
};

}  // namespace mixnet::sim
