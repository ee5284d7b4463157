#pragma once

#include <functional>
#include <string>

#include "core/comparison.h"
#include "core/result.h"
#include "core/routing.h"
#include "scenario/scenario.h"

namespace mixnet::cli {

// Told which fabric is being simulated and how far it is: steps done of steps in all.
using CompareProgress = std::function<void(const std::string& fabric, int64_t done, int64_t total)>;

// Simulates the scenario's iteration on the ideal network and on every fabric it lists, and prices
// them. Fails if a price is missing.
Result<Comparison> compare(const scenario::Scenario& scenario, const RoutingView& routing,
                           const CompareProgress& progress);

}  // namespace mixnet::cli
