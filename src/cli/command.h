#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.h"

namespace mixnet::cli {

// Exit codes of every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // the work failed: an output could not be written, ...
inline constexpr int kExitUsage = 2;    // the command line or an input file is wrong

// Set by the callback of the sub-command that ran; main returns it.
struct Outcome {
  int exit_code = kExitOk;
};

// Prints `mixnet: error: <where>: <message>` on standard error; returns kExitUsage.
int report_usage_error(const Error& error);
// The same for failures that are not the user's; returns kExitFailure.
int report_failure(const Error& error);

// Prints exactly one JSON object and a newline on standard output.
void print_json(const nlohmann::ordered_json& object);

// Writes `text` to a temporary name beside `path` and renames it: readers see the old file or the
// new one, never half of one.
Status write_file(const std::string& path, const std::string& text);

}  // namespace mixnet::cli
