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

// The ranks of one stage, which stand next to each other.
struct StageRanks {
  int first = 0;
  int per_server = 1;
  int servers = 1;
};

StageRanks stage_ranks(const Placement& placement, int stage) {
  const int ranks = placement.copies() * placement.expert_ranks();
  const int per_server = std::min(ranks, placement.ranks_per_server());
  return {placement.rank(placement.region(stage, 0), 0), per_server, ranks / per_server};
}

// A ring over servers that are `stride` apart, for each of the servers 0 .. stride - 1: the ranks
// of a server carry equal parts of what it sends. `bytes` is what each server contributes.
void add_rings(const StageRanks& ranks, int stride, Bytes bytes, GradientSync& sync) {
  const int members = ranks.servers / stride;
  if (members == 1) {
    return;
  }
  const Bytes per_slot(ring_bytes(bytes, members).count() / ranks.per_server + 1);
  for (int s = 0; s < ranks.servers; ++s) {
    const int next = (s + stride) % ranks.servers;
    for (int slot = 0; slot < ranks.per_server; ++slot) {
      sync.messages.push_back({ranks.first + s * ranks.per_server + slot,
                               ranks.first + next * ranks.per_server + slot, per_slot});
    }
  }
  sync.ring_steps = std::max(sync.ring_steps, 2 * (members - 1));
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
  const StageRanks ranks = stage_ranks(placement, stage);
  // Copies of the experts that share a server, and servers of one copy.
  const int local_copies = std::max(1, ranks.per_server / p.ep);
  const int copy_servers = placement.region_servers();
  GradientSync sync;
  add_rings(ranks, 1, dense, sync);
  add_rings(ranks, copy_servers, experts * (ranks.per_server / local_copies), sync);
  for (const Message& m : sync.messages) {
    sync.bytes += m.bytes;
  }
  // Equal gradients inside a server: a reduce-scatter before the rings and an all-gather after
  // them, each half of an all-reduce over the ranks that hold them.
  const auto inside = [&](Bytes gradients, int peers) {
    sync.bytes += peers > 1 ? ring_bytes(gradients, peers) * (int64_t{p.dp} * p.ep) : Bytes();
    return nvlink_all_reduce_time(Bytes(gradients.count() / p.tp), peers, study.cluster.gpu,
                                  study.network);
  };
  const SimTime both = inside(dense, ranks.per_server) + inside(experts, local_copies);
  sync.nvlink_reduce = SimTime::from_ps(both.ps() / 2);
  sync.nvlink_broadcast = both - sync.nvlink_reduce;
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
