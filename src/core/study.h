#pragma once

#include <vector>

#include "core/cluster.h"
#include "core/compute.h"
#include "core/fabric_spec.h"
#include "core/failure.h"
#include "core/moe_model.h"
#include "core/routing.h"

namespace mixnet {

// Everything that a simulation of one training iteration depends on, except the routing counts.
struct Study {
  MoeModel model;
  Parallelism parallelism;
  Cluster cluster;
  NetworkSettings network;
  ComputeSettings compute;
  RoutingUse routing;
  std::vector<FabricSpec> fabrics;
  std::vector<Failure> failures;
};

}  // namespace mixnet
