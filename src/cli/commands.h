#pragma once

#include "cli/command.h"

// One function per sub-command, each in <name>_command.cc. It declares the options, their help and
// an example, and a callback that does the work and sets the outcome.
namespace mixnet::cli {

void add_trace_command(CLI::App& app, Outcome& outcome);
void add_wire_command(CLI::App& app, Outcome& outcome);

}  // namespace mixnet::cli
