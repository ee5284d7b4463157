#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/study.h"
#include "scenario/generator.h"
#include "scenario/override.h"
#include "scenario/prices.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

// Where the routing counts come from: exactly one of the three.
struct RoutingInput {
  std::string trace;           // .npy path, resolved against the scenario file
  std::string matrix;          // matrix text path, resolved against the scenario file
  std::string written;         // the path as the scenario file writes it
  GeneratorOptions generator;  // used when both paths are empty
};

// A scenario file, completely resolved: every name looked up, every default filled in.
struct Scenario {
  Study study;
  RoutingInput routing;
  PriceList prices;
  std::string model_config;  // the config.json as the scenario file writes it; empty if catalogued
  uint64_t seed = 1;
};

// Reads and checks a scenario file. Errors carry file and line and say what to write instead.
//
// Each override is "table.key=value" and replaces or adds that key before anything is checked:
// "cluster.nic_rate=100Gbps", "fabric.mixnet-never.alpha=4" (of the one fabric with that label).
// The value is read as TOML, or as text if it is not TOML. Errors in it are placed at "--set KEY".
Result<Scenario> read_scenario(const std::string& path,
                               const std::vector<std::string>& overrides = {});

// The same with overrides that come from a file; errors in them are placed there.
Result<Scenario> read_overridden_scenario(const std::string& path,
                                          const std::vector<Override>& overrides);

// The full effective configuration, without paths outside the scenario, dates or run times.
nlohmann::ordered_json effective_config(const Scenario& scenario);

// Reads or generates the routing counts and checks that they fit the job: experts equal the
// model's, sources are ep (every expert copy sees the same routing) or dp * ep, enough layers and
// micro-batches unless the scenario allows repeating, row sums equal to tokens * top-k unless
// the counts are declared weights.
Result<RoutingTrace> load_routing(const Scenario& scenario);

}  // namespace mixnet::scenario
