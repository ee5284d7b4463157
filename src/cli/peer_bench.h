#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace mixnet::cli {

// What another program measured of the same work.
struct PeerTimes {
  std::string what;  // the program, and how it was set
  double median_s = 0;
  double best_s = 0;
  double cpu_s = 0;
};

// A program that is built beside this one: with its path, or an error that says how to build it.
Result<std::string> program_beside_this(const std::string& name);

// Runs `command`, which prints one JSON object with median_s, best_s and cpu_s.
// Errors: it cannot be run, it fails (with the last line that it wrote), it prints something else.
Result<PeerTimes> run_peer(const std::string& what, const std::vector<std::string>& command);

}  // namespace mixnet::cli
