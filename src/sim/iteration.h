#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/comparison.h"
#include "core/routing.h"
#include "core/study.h"
#include "sim/circuit_book.h"
#include "sim/fabric.h"
#include "sim/messages.h"

// One training iteration of a mixture-of-experts model on one fabric: the 1F1B pipeline of every
// copy of every stage, their all-to-alls, point-to-point transfers and the final all-reduce, over
// one fluid network that all of them share.
//
// What is modelled: docs/simulator.md. What is not: packet-level effects, computation and
// communication competing for a GPU, memory limits, failures, activation recomputation, the
// optimiser's own time.
namespace mixnet::sim {

// Chooses a one-shot direct-connect topology for the traffic of an iteration.
using TopologyPolicy = std::function<DirectConnect(const std::vector<ServerTraffic>& traffic,
                                                   int servers, int nics_per_server)>;

struct IterationOptions {
  WiringPolicy wiring;      // needed by fabrics with circuits
  TopologyPolicy topology;  // needed by topoopt
  // Called now and then with executed and total steps, if set.
  std::function<void(int64_t done, int64_t total)> progress;
  bool timeline = true;  // fill lanes and spans of the first region
};

// An iteration that is at least as long as the simulated one, in seconds: everything one after the
// other, all tokens on one rank, all bytes through one NIC, every switch in full. Simulated time
// ends at 106 days (core/units.h); the caller refuses what could come near.
double longest_iteration_s(const Study& study, const FabricSpec& fabric);

// Simulates one iteration. The study has been checked (scenario), and the routing fits it. Fills
// everything of the result but cost, performance per dollar and CPU time.
FabricResult simulate_iteration(const Study& study, const FabricSpec& fabric,
                                const RoutingView& routing, const IterationOptions& options);

}  // namespace mixnet::sim
