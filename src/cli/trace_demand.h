#pragma once

#include <cstdint>

#include "core/matrix.h"
#include "core/routing.h"

namespace mixnet::cli {

// Tokens of one layer in one iteration of a trace, [source x expert].
DemandMatrix step_demand(const RoutingView& trace, int64_t iteration, int64_t layer);

// The same between servers, [n x n]: sources and experts in equal, consecutive groups per server.
DemandMatrix between_servers(const DemandMatrix& demand, int servers);

}  // namespace mixnet::cli
