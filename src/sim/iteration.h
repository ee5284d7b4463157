#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/comparison.h"
#include "core/routing.h"
#include "core/study.h"
#include "sim/circuit_book.h"
#include "sim/circuit_books.h"
#include "sim/fabric.h"
#include "sim/messages.h"

// Training iterations of a mixture-of-experts model on one fabric: the 1F1B pipeline of every
// copy of every stage, their all-to-alls, point-to-point transfers and the final all-reduce, over
// one fluid network that all of them share. Iterations follow one another; what lasts from one to
// the next is the circuits of each region, those that are still dark included.
//
// What is modelled: docs/simulator.md. What is not: packet-level effects, computation and
// communication competing for a GPU, memory limits, activation recomputation, the
// optimiser's own time.
namespace mixnet::sim {

// Chooses a one-shot direct-connect topology for the traffic of an iteration.
using TopologyPolicy = std::function<DirectConnect(const std::vector<ServerTraffic>& traffic,
                                                   int servers, int nics_per_server)>;

struct IterationOptions {
  WiringPolicy wiring;               // needed by fabrics with circuits
  WiringAfterFailures wiring_after;  // needed by them if the study has failures
  TopologyPolicy topology;           // needed by topoopt
  PredictPolicy predict;  // dispatch predict; without it all is expected to be as last time
  CadencePolicy cadence;  // needed by cadence auto
  // Called now and then with executed and total steps, if set.
  std::function<void(int64_t done, int64_t total)> progress;
  bool timeline = true;  // fill lanes and spans of the first region
};

// An iteration that is at least as long as the simulated one, in seconds: everything one after the
// other, all tokens on one rank, all bytes through one NIC, every switch in full. Simulated time
// ends at 106 days (core/units.h); the caller refuses what could come near.
double longest_iteration_s(const Study& study, const FabricSpec& fabric);

// Simulates study.run.iterations iterations, the i-th on the routing i iterations after the first.
// The study has been checked (scenario), and the routing fits it. Fills everything of the result
// but cost, performance per dollar and CPU time. Memory does not depend on the number of
// iterations, but for one IterationSample of each.
FabricResult simulate_iterations(const Study& study, const FabricSpec& fabric,
                                 const RoutingView& routing, const IterationOptions& options);

}  // namespace mixnet::sim
