#include "sim/messages.h"

#include <cmath>
#include <map>
#include <tuple>

#include "core/workload.h"
#include "sim/program.h"

namespace mixnet::sim {
namespace {

int64_t stage_dense_parameters(const MoeModel& model, int stages, int stage) {
  const StageLayers layers = stage_layers(model, stages, stage);
  int64_t total = 0;
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    total += attention_parameters(model);
    total += model.is_moe(layer) ? gate_parameters(model) + shared_expert_parameters(model)
                                 : dense_ffn_parameters(model);
  }
  // Embedding on the first stage, output head on the last.
  total += stage == 0 ? embedding_parameters(model) : 0;
  total += stage == stages - 1 ? embedding_parameters(model) : 0;
  return total;
}

int64_t rank_expert_parameters(const MoeModel& model, const Parallelism& layout, int stage) {
  const StageLayers layers = stage_layers(model, layout.pp, stage);
  int64_t moe = 0;
  for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
    moe += model.is_moe(layer) ? 1 : 0;
  }
  return moe * (model.experts / layout.ep) * expert_parameters(model);
}

// What one member of a ring of n sends for an all-reduce of `bytes`.
Bytes ring_bytes(Bytes bytes, int n) {
  return Bytes(
      static_cast<int64_t>(std::ceil(2.0 * (n - 1) / n * static_cast<double>(bytes.count()))));
}

// Ring of the servers of a stage; every rank slot carries its share to the same slot next door.
void add_dense_rings(const Placement& placement, int stage, Bytes gradients, GradientSync& sync) {
  const int ranks = placement.copies() * placement.expert_ranks();
  const int first_rank = placement.rank(placement.region(stage, 0), 0);
  const int per_server = std::min(ranks, placement.ranks_per_server());
  const int servers = ranks / per_server;
  if (servers == 1) {
    return;
  }
  const Bytes per_slot(ring_bytes(gradients, servers).count() / per_server + 1);
  for (int s = 0; s < servers; ++s) {
    for (int slot = 0; slot < per_server; ++slot) {
      sync.messages.push_back({first_rank + s * per_server + slot,
                               first_rank + (s + 1) % servers * per_server + slot, per_slot});
    }
  }
  sync.ring_steps = std::max(sync.ring_steps, 2 * (servers - 1));
}

void add_expert_rings(const Placement& placement, int stage, Bytes gradients, GradientSync& sync) {
  const int copies = placement.copies();
  if (copies == 1) {
    return;
  }
  const Bytes sent = ring_bytes(gradients, copies);
  for (int copy = 0; copy < copies; ++copy) {
    for (int e = 0; e < placement.expert_ranks(); ++e) {
      sync.messages.push_back({placement.rank(placement.region(stage, copy), e),
                               placement.rank(placement.region(stage, (copy + 1) % copies), e),
                               sent});
    }
  }
  sync.ring_steps = std::max(sync.ring_steps, 2 * (copies - 1));
}

}  // namespace

std::vector<Message> all_to_all_messages(const Study& study, const Placement& placement, int region,
                                         const Demand& demand, bool transposed) {
  const auto ep = static_cast<std::size_t>(placement.expert_ranks());
  const auto copy = static_cast<double>(assignment_bytes(study.model, study.compute).count());
  std::vector<Message> messages;
  messages.reserve(ep * ep);
  for (std::size_t i = 0; i < ep; ++i) {
    for (std::size_t j = 0; j < ep; ++j) {
      const double tokens = transposed ? demand.ranks(j, i) : demand.ranks(i, j);
      if (i != j && tokens > 0) {
        messages.push_back({placement.rank(region, static_cast<int>(i)),
                            placement.rank(region, static_cast<int>(j)),
                            Bytes(static_cast<int64_t>(std::llround(tokens * copy)))});
      }
    }
  }
  return messages;
}

std::vector<Message> pipeline_messages(const Study& study, const Placement& placement, int region,
                                       int other) {
  const Bytes bytes =
      activation_bytes(study.model, study.compute, study.parallelism.tokens_per_micro_batch());
  std::vector<Message> messages;
  for (int e = 0; e < placement.expert_ranks(); ++e) {
    messages.push_back({placement.rank(region, e), placement.rank(other, e), bytes});
  }
  return messages;
}

GradientSync gradient_sync(const Study& study, const Placement& placement, int stage) {
  const Parallelism& p = study.parallelism;
  const Bytes dense(stage_dense_parameters(study.model, p.pp, stage) *
                    study.compute.gradient_bytes);
  const Bytes experts(rank_expert_parameters(study.model, p, stage) * study.compute.gradient_bytes);
  GradientSync sync;
  add_dense_rings(placement, stage, dense, sync);
  add_expert_rings(placement, stage, experts, sync);
  for (const Message& m : sync.messages) {
    sync.bytes += m.bytes;
  }
  // Ranks of one server hold equal dense gradients: a reduce-scatter before the rings and an
  // all-gather after them, each half of an all-reduce over the server's ranks.
  const int peers = std::min(p.dp * p.ep, placement.ranks_per_server());
  const Bytes per_gpu(dense.count() / p.tp);
  const SimTime both = nvlink_all_reduce_time(per_gpu, peers, study.cluster.gpu, study.network);
  sync.nvlink_reduce = SimTime::from_ps(both.ps() / 2);
  sync.nvlink_broadcast = both - sync.nvlink_reduce;
  if (peers > 1) {
    sync.bytes += ring_bytes(dense, peers) * (p.dp * p.ep);
  }
  return sync;
}

std::vector<ServerTraffic> iteration_traffic(const Study& study, const Placement& placement,
                                             DemandTable& demand) {
  std::map<std::tuple<int, int, TrafficPhase>, double> sums;
  const auto add = [&](TrafficPhase phase, const std::vector<Message>& messages, double times) {
    for (const Message& m : messages) {
      const int src = placement.server_of(m.src_rank);
      const int dst = placement.server_of(m.dst_rank);
      if (src != dst) {
        sums[{src, dst, phase}] += times * static_cast<double>(m.bytes.count());
      }
    }
  };
  const Parallelism& p = study.parallelism;
  for (int region = 0; region < placement.regions(); ++region) {
    const int stage = placement.stage_of(region);
    const StageLayers layers = stage_layers(study.model, p.pp, stage);
    for (int layer = layers.first; layer < layers.first + layers.count; ++layer) {
      const int moe = moe_index(study.model, layer);
      for (int m = 0; moe >= 0 && m < (study.routing.per_micro_batch ? p.micro_batches : 1); ++m) {
        const Demand& d = demand.at(demand.key(m, moe, placement.copy_of(region)));
        // Two dispatch-shaped and two combine-shaped all-to-alls.
        const double times = 2.0 * (study.routing.per_micro_batch ? 1 : p.micro_batches);
        add(TrafficPhase::kDispatch, all_to_all_messages(study, placement, region, d, false),
            times);
        add(TrafficPhase::kCombine, all_to_all_messages(study, placement, region, d, true), times);
      }
    }
    if (stage + 1 < p.pp) {
      const int next = placement.region(stage + 1, placement.copy_of(region));
      add(TrafficPhase::kPipeline, pipeline_messages(study, placement, region, next),
          p.micro_batches);
      add(TrafficPhase::kPipeline, pipeline_messages(study, placement, next, region),
          p.micro_batches);
    }
  }
  for (int stage = 0; stage < p.pp; ++stage) {
    add(TrafficPhase::kGradient, gradient_sync(study, placement, stage).messages, 1);
  }
  std::vector<ServerTraffic> traffic;
  traffic.reserve(sums.size());
  for (const auto& [key, bytes] : sums) {
    const auto [src, dst, phase] = key;
    traffic.push_back({src, dst, bytes, phase});
  }
  return traffic;
}

}  // namespace mixnet::sim
