#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "scenario/sweep.h"

namespace mixnet::cli {

struct SweepPoint {
  std::size_t index = 0;         // in the sweep
  nlohmann::ordered_json point;  // {key: value}
  std::string id;                // 16 hexadecimal digits
  double cost_s = 0;             // rough CPU time
  std::optional<Error> error;    // the scenario cannot be read
};

// Every point of the sweep in order. Its id is a hash of the point, its effective configuration,
// the content of its routing file (the first 64 MiB and the size) and the version: equal ids mean
// equal results. Fails if no point at all has a scenario that can be read.
Result<std::vector<SweepPoint>> sweep_points(const scenario::Sweep& sweep);

// Shard `number`, 1 to `count`, of the points: those of all shards together are all points, each
// once, and their costs are about equal. The points keep their order.
std::vector<SweepPoint> sweep_shard(const std::vector<SweepPoint>& points, int number, int count);

// Simulates the point. One JSON object without a line break: {id, point, fabrics, config, version}
// with fabrics as in result.json, or {id, point, error, version}.
std::string sweep_line(const scenario::Sweep& sweep, const SweepPoint& point);
// The line of a point whose simulation did not end.
std::string failed_sweep_line(const SweepPoint& point, const Error& error);

}  // namespace mixnet::cli
