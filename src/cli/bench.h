#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace mixnet::cli {

// What one benchmark measured.
// NOLINTNEXTLINE(bugprone-exception-escape): moving ordered_json checks its own invariants
struct BenchFigure {
  double cpu_s = 0;
  std::optional<double> reference_cpu_s;  // what `against` needs for the same work
  bool reference_unfinished = false;      // it was stopped there: the ratio is a lower bound
  // Where several processes work together: wall time, which the ratio is of, then.
  std::optional<double> wall_s;
  std::optional<double> reference_wall_s;
  std::string against;             // what the reference is, where it comes from
  nlohmann::ordered_json details;  // further keys of the row
};

struct BenchCase {
  std::string name;
  std::string what;
  std::function<Result<BenchFigure>()> run;
};

// Every group of benchmarks is one function; all_benches() lists the groups.
std::vector<BenchCase> cadence_benches();
std::vector<BenchCase> compare_benches();
std::vector<BenchCase> decoder_benches();
std::vector<BenchCase> ep_benches();
std::vector<BenchCase> fluid_benches();
std::vector<BenchCase> ocs_benches();
std::vector<BenchCase> overlap_benches();
std::vector<BenchCase> swap_benches();
std::vector<BenchCase> place_benches();
std::vector<BenchCase> wire_benches();
std::vector<BenchCase> predict_benches();
std::vector<BenchCase> all_benches();

}  // namespace mixnet::cli
