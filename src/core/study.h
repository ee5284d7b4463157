#pragma once

#include <cstdint>
#include <vector>

#include "core/cluster.h"
#include "core/compute.h"
#include "core/fabric_spec.h"
#include "core/failure.h"
#include "core/moe_model.h"
#include "core/routing.h"

namespace mixnet {

struct RunSettings {
  int64_t iterations = 1;  // simulated one after the other
  uint64_t seed = 1;       // of what is drawn while simulating
};

// Everything that a simulation of training iterations depends on, except the routing counts.
struct Study {
  MoeModel model;
  Parallelism parallelism;
  Cluster cluster;
  NetworkSettings network;
  ComputeSettings compute;
  RoutingUse routing;
  RunSettings run;
  std::vector<FabricSpec> fabrics;
  std::vector<Failure> failures;
};

}  // namespace mixnet
