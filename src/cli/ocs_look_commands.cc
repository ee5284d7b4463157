#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/region_options.h"
#include "cli/region_view.h"
#include "cli/topology_changes.h"
#include "daemon/json_log.h"

// The commands that look at a region and change nothing.
namespace mixnet::cli {
namespace {

namespace v1 = region::v1;

// Said on standard error behind what was read last.
std::optional<Error> no_session(const v1::Topology& topology) {
  if (topology.connected()) {
    return std::nullopt;
  }
  return Error{
      "no session with the switch: " + session_trouble(topology).value_or("it was not dialled yet"),
      ""};
}

// Prints what was read; returns the exit code.
int show(const v1::Topology& topology, bool good) {
  if (const std::optional<Error> trouble = no_session(topology)) {
    return report_failure(*trouble);
  }
  return good ? kExitOk : kExitAttention;
}

int run_status(const RegionOptions& options, bool ports) {
  RegionTask task;
  task.verb = "status";
  task.run = [&](const daemon::RegionConfig& config, RegionAccess& access) -> Result<int> {
    const Result<v1::Topology> topology = access.status();
    if (!topology.ok()) {
      return topology.error();
    }
    const StatusView view{config, *topology, access.way(), ports};
    if (options.json) {
      print_json(status_json(view));
    } else {
      print_text(status_text(view));
    }
    return show(*topology, all_is_well(*topology));
  };
  return run_region_task(options, task);
}

int run_diff(const RegionOptions& options) {
  RegionTask task;
  task.verb = "diff";
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) -> Result<int> {
    const Result<v1::Topology> topology = access.status();
    if (!topology.ok()) {
      return topology.error();
    }
    if (options.json) {
      print_json(diff_json(*topology));
    } else {
      print_text(diff_text(*topology));
    }
    return show(*topology, topology->settled() && all_agree(*topology));
  };
  return run_region_task(options, task);
}

int run_verify(const RegionOptions& options) {
  RegionTask task;
  task.verb = "verify";
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) -> Result<int> {
    const Result<v1::ApplyReply> reply = access.verify();
    if (!reply.ok()) {
      return reply.error();
    }
    if (options.json) {
      print_json(reply_json(*reply));
    } else {
      print_text(reply_text(*reply));
    }
    return all_verified(*reply) ? kExitOk : kExitAttention;
  };
  return run_region_task(options, task);
}

void print_change(const TopologyChange& change, bool json) {
  if (json) {
    print_json({{"time", date_text(change.time)},
                {"event", change.event},
                {"kind", change.kind},
                {"subject", change.subject},
                {"message", change.message}});
  } else {
    print_text(fmt::format("{}  {:<13}  {:<13}  {}{}{}\n", date_text(change.time), change.event,
                           change.kind, change.subject, change.message.empty() ? "" : "  ",
                           change.message));
  }
}

int run_watch(const RegionOptions& options, const std::string& length_text) {
  std::optional<Duration> length;
  RegionTask task;
  task.verb = "watch";
  task.check = [&](const daemon::RegionConfig& /*config*/) {
    if (length_text.empty()) {
      return Status();
    }
    const Result<Duration> parsed = parse_duration("--for", length_text);
    if (!parsed.ok()) {
      return Status(parsed.error());
    }
    length = *parsed;
    return Status();
  };
  task.run = [&](const daemon::RegionConfig& /*config*/, RegionAccess& access) -> Result<int> {
    std::optional<v1::Topology> before;
    const Status watched = access.watch(
        [&](const v1::Topology& topology) {
          const double now = daemon::unix_now();
          for (const TopologyChange& change : before.has_value()
                                                  ? changes_between(*before, topology, now)
                                                  : standing(topology, now)) {
            print_change(change, options.json);
          }
          before = topology;
          // Somebody may be reading along.
          std::fflush(stdout);
        },
        length);
    return watched.ok() ? Result<int>(kExitOk) : Result<int>(watched.error());
  };
  return run_region_task(options, task);
}

}  // namespace

void add_ocs_status_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<RegionOptions>();
  auto ports = std::make_shared<bool>(false);
  CLI::App* command =
      ocs.add_subcommand("status", "the circuits of a region, its ports and alarms");
  add_region_options(*command, *options);
  command->add_flag("--ports", *ports, "also power and shutter of every port");
  command->footer(std::string(kRegionExitCodes) +
                  "Example: mixnet ocs status --config examples/region.toml");
  command->callback(
      [options, ports, &outcome] { outcome.exit_code = run_status(*options, *ports); });
}

void add_ocs_diff_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<RegionOptions>();
  CLI::App* command = ocs.add_subcommand(
      "diff", "where what is intended, configured on the switch, and operational disagree");
  add_region_options(*command, *options);
  command->footer(std::string(kRegionExitCodes) +
                  "Example: mixnet ocs diff --config examples/region.toml");
  command->callback([options, &outcome] { outcome.exit_code = run_diff(*options); });
}

void add_ocs_verify_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<RegionOptions>();
  CLI::App* command =
      ocs.add_subcommand("verify", "read everything back from the switch now and check it");
  add_region_options(*command, *options);
  command->footer(std::string(kRegionExitCodes) +
                  "Example: mixnet ocs verify --config examples/region.toml");
  command->callback([options, &outcome] { outcome.exit_code = run_verify(*options); });
}

void add_ocs_watch_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<RegionOptions>();
  auto length = std::make_shared<std::string>();
  CLI::App* command =
      ocs.add_subcommand("watch", "one line for every change and alarm, until Ctrl-C");
  add_region_options(*command, *options);
  command->add_option("--for", *length, "end after this time, like 10s");
  command->footer(
      std::string(kRegionExitCodes) +
      "With --json one object a line. Ends with 0 at Ctrl-C or after --for, whatever was seen.\n"
      "Without mixnetd it has the region until it ends.\n"
      "Example: mixnet ocs watch --config examples/region.toml --for 10s");
  command->callback(
      [options, length, &outcome] { outcome.exit_code = run_watch(*options, *length); });
}

}  // namespace mixnet::cli
