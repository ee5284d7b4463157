#pragma once

#include <cstdint>
#include <vector>

#include "core/study.h"
#include "sim/demand.h"
#include "sim/fabric.h"

// Who sends what to whom, as messages between ranks.
namespace mixnet::sim {

// One all-to-all of a region: the dispatch demand or its transpose.
std::vector<Message> all_to_all_messages(const Study& study, const Placement& placement, int region,
                                         const Demand& demand, bool transposed);

// Activations of one micro-batch from every rank of `region` to its peer in `other`.
std::vector<Message> pipeline_messages(const Study& study, const Placement& placement, int region,
                                       int other);

// The data-parallel all-reduce of one stage, hierarchical and with a ring per NIC: equal gradients
// are reduced over NVLink inside a server; then the servers that hold equal ones form rings (all
// servers of the stage for dense parameters, the same server of every copy for experts), in which
// each sends 2 (n - 1) / n of them to its neighbour over all packet NICs. Rings are pipelined, so
// all messages flow at once.
struct GradientSync {
  std::vector<Message> messages;
  SimTime nvlink_reduce;     // before the rings
  SimTime nvlink_broadcast;  // after them
  int ring_steps = 0;        // latencies of the longest ring on the way
  Bytes bytes;               // handed to the network and NVLink by all ranks of the stage
};
GradientSync gradient_sync(const Study& study, const Placement& placement, int stage);

// All traffic of one iteration between servers; the input of a one-shot topology.
enum class TrafficPhase : uint8_t { kDispatch, kCombine, kPipeline, kGradient };
struct ServerTraffic {
  int src = 0;
  int dst = 0;
  double bytes = 0;  // summed over the iteration
  TrafficPhase phase = TrafficPhase::kDispatch;
};
std::vector<ServerTraffic> iteration_traffic(const Study& study, const Placement& placement,
                                             DemandTable& demand);

}  // namespace mixnet::sim
