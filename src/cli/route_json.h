#pragma once

#include <nlohmann/json.hpp>

#include "plan/route.h"

namespace mixnet::cli {

// {circuits: [{servers, nics}], numa_imbalance, pairs: [{src, dst, carriers: [...], gpus: [...]}]}
nlohmann::ordered_json routes_json(const Wiring& wiring, const plan::ServerLayout& layout);

// The circuits with their NICs, and how many GPU shares stay on their own NIC or NUMA node.
void print_routes(const Wiring& wiring, const plan::ServerLayout& layout);

}  // namespace mixnet::cli
