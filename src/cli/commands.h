#pragma once

#include "cli/command.h"

// One function per sub-command, in <name>_command.cc. It declares the options, their help and
// an example, and a callback that does the work and sets the outcome.
namespace mixnet::cli {

void add_bench_command(CLI::App& app, Outcome& outcome);
void add_cadence_command(CLI::App& app, Outcome& outcome);
void add_catalog_command(CLI::App& app, Outcome& outcome);
void add_compare_command(CLI::App& app, Outcome& outcome);
void add_cost_command(CLI::App& app, Outcome& outcome);
void add_failures_command(CLI::App& app, Outcome& outcome);
void add_flows_command(CLI::App& app, Outcome& outcome);
void add_ocs_command(CLI::App& app, Outcome& outcome);
void add_recover_command(CLI::App& app, Outcome& outcome);
void add_sweep_command(CLI::App& app, Outcome& outcome);
void add_policy_command(CLI::App& app, Outcome& outcome);
void add_place_command(CLI::App& app, Outcome& outcome);
void add_predict_command(CLI::App& app, Outcome& outcome);
void add_trace_command(CLI::App& app, Outcome& outcome);
void add_wire_command(CLI::App& app, Outcome& outcome);

// Sub-commands of `sweep`.
void add_sweep_merge_command(CLI::App& sweep, Outcome& outcome);
void add_sweep_report_command(CLI::App& sweep, Outcome& outcome);

// Sub-commands of `ocs`.
void add_ocs_apply_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_connect_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_diff_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_disconnect_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_emulate_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_fault_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_status_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_verify_command(CLI::App& ocs, Outcome& outcome);
void add_ocs_watch_command(CLI::App& ocs, Outcome& outcome);

}  // namespace mixnet::cli
