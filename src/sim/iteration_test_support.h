#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/routing.h"
#include "core/study.h"
#include "sim/iteration.h"

// Small jobs for the tests of this module.
namespace mixnet::sim {

// Mixtral-shaped, four layers; 4 servers of 8 GPUs, TP 4, EP 8, one stage, one copy.
inline Study small_study() {
  Study s;
  s.model.name = "small";
  s.model.hidden = 1024;
  s.model.layers = 4;
  s.model.experts = 8;
  s.model.top_k = 2;
  s.model.expert_ffn = 4096;
  s.model.dense_ffn = 4096;
  s.model.dispatch_width = 1024;
  s.model.query_heads = 8;
  s.model.kv_heads = 8;
  s.model.head_dim = 128;
  s.model.vocab = 32000;
  s.parallelism.tp = 4;
  s.parallelism.ep = 8;
  s.parallelism.micro_batch_size = 2;
  s.parallelism.micro_batches = 2;
  s.parallelism.sequence_length = 1024;
  s.cluster.servers = 4;
  s.cluster.nic_rate = BitRate::from_gbps(100);
  s.cluster.gpu = {"test", 312, 0, 2039, 300};
  return s;
}

// A job on `stages` x `copies` regions of the small study.
inline Study scaled_study(int stages, int copies, int micro_batches) {
  Study s = small_study();
  s.parallelism.pp = stages;
  s.parallelism.dp = copies;
  s.parallelism.micro_batches = micro_batches;
  s.cluster.servers = 4 * stages * copies;
  return s;
}

// One step and one layer; source i sends `hot` of its assignments to expert 0, the rest evenly.
class TestTrace {
 public:
  TestTrace(const Study& study, int64_t layers, double hot, int64_t steps = 1)
      : view_{steps, layers, study.parallelism.ep, study.model.experts, nullptr} {
    const int64_t total = study.parallelism.tokens_per_micro_batch() * study.model.top_k;
    for (int64_t row = 0; row < steps * layers * view_.sources; ++row) {
      const auto to_hot = static_cast<int64_t>(static_cast<double>(total) * hot);
      const int64_t others = (total - to_hot) / (view_.experts - 1);
      // Each step has a hot expert on another server, so that demand changes.
      const int64_t hot_expert = 2 * (row / (layers * view_.sources)) % view_.experts;
      for (int64_t x = 0; x < view_.experts; ++x) {
        counts_.push_back(
            static_cast<uint32_t>(x == hot_expert ? total - others * (view_.experts - 1) : others));
      }
    }
    view_.counts = counts_.data();
  }
  TestTrace(const TestTrace&) = delete;
  TestTrace& operator=(const TestTrace&) = delete;
  TestTrace(TestTrace&&) = delete;
  TestTrace& operator=(TestTrace&&) = delete;
  ~TestTrace() = default;
  const RoutingView& view() const { return view_; }

 private:
  std::vector<uint32_t> counts_;
  RoutingView view_;
};

// Two circuits for every pair but, if the demand is skewed, three for the pair with the most; all
// bytes go over circuits.
inline WiringPolicy test_wiring() {
  const auto route = [](const DemandMatrix& demand, const Matrix<int>& circuits) {
    Wiring w;
    w.circuits = circuits;
    w.circuit = demand;
    w.eps = Matrix<double>(demand.rows(), demand.cols());
    for (std::size_t i = 0; i < demand.rows(); ++i) {
      w.circuit(i, i) = 0;
    }
    return w;
  };
  const auto wire = [route](const DemandMatrix& demand) {
    Matrix<int> circuits(demand.rows(), demand.cols(), 2);
    std::size_t hot = 0;
    for (std::size_t j = 0; j < demand.cols(); ++j) {
      hot = demand(1, j) + demand(2, j) > demand(1, hot) + demand(2, hot) ? j : hot;
    }
    for (std::size_t i = 0; i < demand.rows(); ++i) {
      circuits(i, i) = 0;
    }
    const std::size_t other = (hot + 1) % demand.rows();
    circuits(hot, other) = circuits(other, hot) = 3;
    return route(demand, circuits);
  };
  return {wire, route};
}

inline FabricSpec fabric(FabricKind kind) {
  FabricSpec spec;
  spec.kind = kind;
  spec.name = fabric_kind_name(kind);
  if (kind == FabricKind::kFatTreeOversubscribed) {
    spec.oversubscription = 3;
  }
  return spec;
}

// A full mesh between the servers that talk.
inline TopologyPolicy mesh_topology() {
  return [](const std::vector<ServerTraffic>& traffic, int, int) {
    DirectConnect direct;
    std::set<std::pair<int, int>> pairs;
    for (const ServerTraffic& t : traffic) {
      pairs.insert({t.src, t.dst});
    }
    for (const auto& [src, dst] : pairs) {
      direct.routes.push_back({src, dst, 1, {{static_cast<int>(direct.links.size()), 1.0}}});
      direct.links.push_back({src, dst, 1});
    }
    return direct;
  };
}

inline FabricResult simulate(const Study& study, const FabricSpec& spec,
                             const RoutingView& routing) {
  IterationOptions options;
  options.wiring = test_wiring();
  options.topology = mesh_topology();
  return simulate_iterations(study, spec, routing, options);
}

}  // namespace mixnet::sim
