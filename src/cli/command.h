#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/result.h"

namespace mixnet::cli {

// Exit codes of every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // the work failed: an output could not be written, ...
inline constexpr int kExitUsage = 2;    // the command line or an input file is wrong
// `mixnet ocs`: the region was reached, but not everything is as it should be.
inline constexpr int kExitAttention = 3;

// Set by the callback of the sub-command that ran; main returns it.
struct Outcome {
  int exit_code = kExitOk;
};

// Prints `mixnet: error: <where>: <message>` on standard error; returns kExitUsage.
int report_usage_error(const Error& error);
// The same for failures that are not the user's; returns kExitFailure.
int report_failure(const Error& error);

// Prints `mixnet: <text>` on standard error: what was done besides the work.
void print_note(const std::string& text);

// Prints on standard output. What cannot be written is noticed by finish_output().
void print_text(const std::string& text);
// Prints exactly one JSON object and a newline on standard output.
void print_json(const nlohmann::ordered_json& object);
// Flushes standard output; returns `exit_code`, or kExitFailure after a message if something could
// not be written (full disk, closed descriptor).
int finish_output(int exit_code);

// Of one server, that an option may ask for.
inline constexpr int kMostNics = 1024;

// A number from `low` to `high`; unlike CLI::Range not NaN.
CLI::Validator finite_range(double low, double high);

// Refuses empty values of all options and arguments of the program: an empty variable of a script
// names no file. But an emulated switch need not have a name. To be called when all commands are
// there.
inline constexpr const char* kNameOfSwitch = "--sid";
void refuse_empty_values(CLI::App& app);

// An option that does nothing unless `used`; `fix` says what to type instead.
struct DependentOption {
  const char* name;
  bool used;
  const char* fix;
};
// Refuses options that were given and do nothing.
Status check_used(const CLI::App& command, const std::vector<DependentOption>& options);

// The folder and those above it, unless they exist.
Status make_folder(const std::string& path);

// Refuses, before any work: an output in a folder that does not exist, and one that is also an
// input or another output. Empty names are left out.
Status check_outputs(const std::vector<std::string>& outputs,
                     const std::vector<std::string>& inputs);

struct OutputFile {
  std::string path;
  std::string text;
};
// Writes every file without its name, then renames all of them in order: readers see old files or
// new ones, never half of one, and a failure leaves the old set (scenario/pending_file.h).
Status write_files(const std::vector<OutputFile>& files);

}  // namespace mixnet::cli
