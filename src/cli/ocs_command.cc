#include "cli/commands.h"

namespace mixnet::cli {

void add_ocs_command(CLI::App& app, Outcome& outcome) {
  CLI::App* ocs = app.add_subcommand("ocs", "optical circuit switches");
  ocs->require_subcommand(1);
  ocs->footer("Example: mixnet ocs emulate --ports 48x48 --tcp 127.0.0.1:3082");
  add_ocs_emulate_command(*ocs, outcome);
  add_ocs_fault_command(*ocs, outcome);
}

}  // namespace mixnet::cli
