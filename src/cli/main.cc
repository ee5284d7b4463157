#include <system_error>

#include "cli/commands.h"
#include "net/standard_descriptors.h"

// NOLINTNEXTLINE(bugprone-exception-escape): one that gets here is our bug, and ends loudly
int main(int argc, char** argv) {
  mixnet::net::open_standard_descriptors();
  using mixnet::cli::Outcome;
  CLI::App app{"MixNet: design, simulate and run networks for mixture-of-experts models", "mixnet"};
  app.require_subcommand(1);
  app.set_version_flag("--version", MIXNET_VERSION);
  Outcome outcome;
  mixnet::cli::add_compare_command(app, outcome);
  mixnet::cli::add_sweep_command(app, outcome);
  mixnet::cli::add_cost_command(app, outcome);
  mixnet::cli::add_wire_command(app, outcome);
  mixnet::cli::add_failures_command(app, outcome);
  mixnet::cli::add_policy_command(app, outcome);
  mixnet::cli::add_place_command(app, outcome);
  mixnet::cli::add_predict_command(app, outcome);
  mixnet::cli::add_recover_command(app, outcome);
  mixnet::cli::add_flows_command(app, outcome);
  mixnet::cli::add_trace_command(app, outcome);
  mixnet::cli::add_cadence_command(app, outcome);
  mixnet::cli::add_catalog_command(app, outcome);
  mixnet::cli::add_ocs_command(app, outcome);
  mixnet::cli::add_bench_command(app, outcome);
  mixnet::cli::refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has a code per cause; ours are few and documented. --help arrives here with code 0.
    outcome.exit_code = app.exit(error) == 0 ? mixnet::cli::kExitOk : mixnet::cli::kExitUsage;
  } catch (const std::system_error& error) {
    // fmt throws when a stream takes no more.
    outcome.exit_code = mixnet::cli::report_failure({error.what(), "standard output"});
  }
  return mixnet::cli::finish_output(outcome.exit_code);
}
