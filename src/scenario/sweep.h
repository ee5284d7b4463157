#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "scenario/scenario.h"

// A sweep file: one scenario, and axes along which its keys change. A point of the sweep is one
// step of every axis; the points are the full product, the last axis moving fastest.
namespace mixnet::scenario {

struct SweepValue {
  // As in the scenario file: a number, text, true or false, or an array of tables of these.
  nlohmann::ordered_json json;
  std::optional<double> magnitude;  // of numbers, and of times (s), rates (bit/s) and sizes (bytes)
};

// Keys that change together, and the values they take.
struct SweepAxis {
  std::vector<std::string> keys;               // at least one, dotted
  std::vector<std::vector<SweepValue>> steps;  // [step][key], no two equal
  bool log = false;                            // drawn and, between two ends, stepped by ratios
  int line = 1;                                // of the file
};

struct Sweep {
  std::string file;
  std::string label;     // the name of the file if none is written
  std::string scenario;  // path, resolved against the sweep file
  std::vector<Override> fixed;
  std::vector<std::string> fabrics;  // labels to keep; empty: all
  int fabrics_line = 1;
  std::vector<SweepAxis> axes;  // at least one

  // Between 1 and kMostSweepPoints.
  std::size_t points() const;
};
inline constexpr std::size_t kMostSweepPoints = 1'000'000;

// Reads and checks a sweep file (docs/sweep.md). Keys and values are checked by the scenario that
// they go into, at read_sweep_point().
Result<Sweep> read_sweep(const std::string& path);

// {key: value} of point `index` < sweep.points(), in the order of the file.
nlohmann::ordered_json sweep_point(const Sweep& sweep, std::size_t index);

// The scenario of point `index`, with only the fabrics that the sweep keeps.
Result<Scenario> read_sweep_point(const Sweep& sweep, std::size_t index);

}  // namespace mixnet::scenario
