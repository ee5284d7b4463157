#include "sim/demand.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::sim {

DemandTable::DemandTable(const MoeModel& model, const Parallelism& layout, const RoutingUse& use,
                         const RoutingView& trace, const Placement& placement)
    : model_(model), layout_(layout), use_(use), trace_(trace), placement_(placement) {
  CHECK(trace.experts == model.experts, "the trace has the model's experts");
  CHECK(model.experts % layout.ep == 0, "experts divide among the expert ranks");
  CHECK(trace.sources == layout.ep || trace.sources == static_cast<int64_t>(layout.ep) * layout.dp,
        "one source per expert rank, or one per data-parallel rank");
  CHECK(use.repeat_layers || trace.layers >= model.moe_layers(), "a trace layer per MoE layer");
}

DemandKey DemandTable::key(int micro_batch, int moe_layer, int copy) const {
  const int64_t step = use_.first_iteration + (use_.per_micro_batch ? micro_batch : 0);
  CHECK(step < trace_.iterations, "the trace is long enough");
  return key_at(step, moe_layer, copy);
}

DemandKey DemandTable::key_at(int64_t step, int moe_layer, int copy) const {
  return {step, moe_layer, trace_.sources == layout_.ep ? 0 : copy};
}

bool DemandTable::has_previous(int micro_batch) const {
  return micro_batch > 0 || use_.first_iteration > 0;
}

DemandKey DemandTable::history_key(int moe_layer, int copy) const {
  DemandKey k = key(0, moe_layer, copy);
  k.step -= use_.first_iteration > 0 ? 1 : 0;
  return k;
}

DemandKey DemandTable::previous_key(int micro_batch, int moe_layer, int copy) const {
  CHECK(has_previous(micro_batch), "there is an earlier routing");
  if (micro_batch > 0) {
    return key(micro_batch - 1, moe_layer, copy);
  }
  return history_key(moe_layer, copy);
}

const Demand& DemandTable::at(const DemandKey& key) {
  const auto [it, inserted] = known_.try_emplace(key);
  if (inserted) {
    it->second = demand_of(assignments(key));
  }
  return it->second;
}

DemandMatrix DemandTable::assignments(const DemandKey& key) const {
  const auto ep = static_cast<std::size_t>(layout_.ep);
  const int64_t layer = use_.repeat_layers ? key.layer % trace_.layers : key.layer;
  const double wanted = static_cast<double>(layout_.tokens_per_micro_batch()) * model_.top_k;
  DemandMatrix counts(ep, static_cast<std::size_t>(model_.experts));
  for (std::size_t source = 0; source < ep; ++source) {
    const auto row =
        trace_.row(key.step, layer,
                   static_cast<int64_t>(key.copy) * layout_.ep + static_cast<int64_t>(source));
    double sum = 0;
    for (const uint32_t count : row) {
      sum += count;
    }
    const double scale = use_.counts_are_weights && sum > 0 ? wanted / sum : 1.0;
    for (std::size_t x = 0; x < row.size(); ++x) {
      counts(source, x) = scale * row[x];
    }
  }
  return counts;
}

Demand DemandTable::demand_of(const DemandMatrix& assignments) const {
  const auto ep = static_cast<std::size_t>(layout_.ep);
  const auto servers = static_cast<std::size_t>(placement_.region_servers());
  const std::size_t experts_per_rank = assignments.cols() / ep;
  Demand demand{DemandMatrix(ep, ep), DemandMatrix(servers, servers), 0};
  std::vector<double> computed(ep, 0.0);
  for (std::size_t source = 0; source < ep; ++source) {
    for (std::size_t x = 0; x < assignments.cols(); ++x) {
      const std::size_t rank = x / experts_per_rank;
      demand.ranks(source, rank) += assignments(source, x);
      computed[rank] += assignments(source, x);
    }
  }
  for (std::size_t i = 0; i < ep; ++i) {
    for (std::size_t j = 0; j < ep; ++j) {
      demand.servers(static_cast<std::size_t>(placement_.region_server(static_cast<int>(i))),
                     static_cast<std::size_t>(placement_.region_server(static_cast<int>(j)))) +=
          demand.ranks(i, j);
    }
  }
  demand.slowest_rank = *std::max_element(computed.begin(), computed.end());
  return demand;
}

}  // namespace mixnet::sim
