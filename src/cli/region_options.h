#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "cli/region_access.h"
#include "daemon/region_config.h"

// What the commands of `mixnet ocs` that deal with a region have in common.
namespace mixnet::cli {

struct RegionOptions {
  std::string config;
  std::string daemon;
  std::string tls_ca;
  std::string tls_certificate;
  std::string tls_key;
  std::string timeout = "60s";
  bool json = false;
};

void add_region_options(CLI::App& command, RegionOptions& options);

// The exit codes, for the end of a help text.
extern const char* const kRegionExitCodes;

// "10s"; errors name the option.
Result<Duration> parse_duration(const std::string& option, const std::string& text);

// What a command asks for before anybody is spoken to.
struct RegionTask {
  std::string verb;  // "status"
  Intention intention = Intention::kLook;
  // Looks at the arguments; an error is one of usage. May be empty.
  std::function<Status(const daemon::RegionConfig&)> check;
  // Prints on success; returns the exit code.
  std::function<Result<int>(const daemon::RegionConfig&, RegionAccess&)> run;
};

// Reads the region file, checks, opens the way to the switch, and runs the task. Prints what went
// wrong; returns the exit code.
int run_region_task(const RegionOptions& options, const RegionTask& task);

}  // namespace mixnet::cli
