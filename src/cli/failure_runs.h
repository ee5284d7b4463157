#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/failure.h"
#include "core/routing.h"
#include "scenario/scenario.h"

namespace mixnet::cli {

// MixNet (SIGCOMM 2025), section 5.4: a NIC or its link fails in a job with this probability.
inline constexpr double kNicFailureProbability = 0.00057;

// One fabric with something broken.
struct FailureRun {
  std::string what;  // "nic (optical) of server 0"
  double iteration_s = 0;
  double overhead = 0;  // over the same fabric with nothing broken; 0.03 is 3 %
};

struct DrawnFailures {
  int draws = 0;
  double probability = 0;  // per NIC and job
  int with_failures = 0;   // draws in which at least one NIC failed
  double mean_overhead = 0;
  double worst_overhead = 0;
};

struct FabricFailures {
  std::string fabric;
  double iteration_s = 0;  // nothing broken
  std::vector<FailureRun> runs;
  DrawnFailures drawn;  // draws = 0: not asked for
};

struct FailureOptions {
  int draws = 0;
  double probability = kNicFailureProbability;
  // Told what is simulated next.
  std::function<void(const std::string&)> progress;
};

// Every [[failure]] of the scenario on its own, all of them together if there are several, and
// `draws` jobs in which every NIC fails with the given probability, on every fabric that failures
// are simulated on. Draws are the same for all fabrics; on mixnet a NIC is optical with probability
// alpha / NICs.
std::vector<FabricFailures> run_failures(const scenario::Scenario& scenario,
                                         const RoutingView& routing, const FailureOptions& options);

std::string describe(const Failure& failure);

}  // namespace mixnet::cli
