#include "cli/commands.h"

namespace mixnet::cli {

void add_ocs_command(CLI::App& app, Outcome& outcome) {
  CLI::App* ocs = app.add_subcommand("ocs", "optical circuit switches");
  ocs->require_subcommand(1);
  ocs->footer("Example: mixnet ocs status --config examples/region.toml");
  add_ocs_status_command(*ocs, outcome);
  add_ocs_apply_command(*ocs, outcome);
  add_ocs_connect_command(*ocs, outcome);
  add_ocs_disconnect_command(*ocs, outcome);
  add_ocs_diff_command(*ocs, outcome);
  add_ocs_verify_command(*ocs, outcome);
  add_ocs_watch_command(*ocs, outcome);
  add_ocs_emulate_command(*ocs, outcome);
  add_ocs_fault_command(*ocs, outcome);
}

}  // namespace mixnet::cli
