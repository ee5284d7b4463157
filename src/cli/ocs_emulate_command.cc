#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/emulator_server.h"
#include "ocs/emulated_switch.h"
#include "ocs/tl1_text.h"
#include "scenario/text_file.h"

namespace mixnet::cli {
namespace {

struct EmulateOptions {
  std::string ports = "48x48";
  std::string tcp = "127.0.0.1:3082";
  std::string control;
  std::string sysfs;
  std::string sid = "PolatisOXC";
  std::vector<std::string> knobs;
  std::vector<std::string> nics;
  std::vector<std::string> users;
  uint64_t seed = 1;
  bool json = false;
};

// What the options come to.
struct Plan {
  ocs::EmulatorOptions emulator;
  std::vector<NamedNic> nics;
  EmulatorServer::Places places;
};

std::optional<ocs::PortId> parse_port(std::string_view text, ocs::SwitchSize size) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && size.has(ocs::PortId(value)) ? std::optional(ocs::PortId(value)) : std::nullopt;
}

// A name that is also the name of a directory.
bool is_interface(std::string_view name) {
  constexpr std::size_t kMostBytes = 15;  // as the kernel has it
  return !name.empty() && name.size() <= kMostBytes && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return ocs::is_letter(c) || ocs::is_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

Status add_nic(Plan& plan, std::string_view text) {
  const ocs::SwitchSize size = plan.emulator.size;
  const auto parts = ocs::split(text, ':');
  const auto tx = parts.size() == 3 ? parse_port(parts[1], size) : std::nullopt;
  const auto rx = parts.size() == 3 ? parse_port(parts[2], size) : std::nullopt;
  if (!tx || !rx || !is_interface(parts[0])) {
    return Error{fmt::format("--nic {}: write NAME:TX:RX, such as ens1f0:1:{}, with ports 1 to {}",
                             text, size.ingress + 1, size.ports()),
                 ""};
  }
  if (*tx == *rx || (size.egress > 0 && (tx->value > size.ingress || rx->value <= size.ingress))) {
    return Error{fmt::format("--nic {}: light enters at TX, 1 to {}, and leaves at RX, {} to {}",
                             text, size.ingress, size.ingress + 1, size.ports()),
                 ""};
  }
  for (std::size_t i = 0; i < plan.nics.size(); ++i) {
    const ocs::EmulatedNic& other = plan.emulator.nics[i];
    if (plan.nics[i].interface == parts[0] || other.tx == *tx || other.rx == *rx ||
        other.tx == *rx || other.rx == *tx) {
      return Error{fmt::format("--nic {}: the name or a port is taken by {}:{}:{}", text,
                               plan.nics[i].interface, other.tx.value, other.rx.value),
                   ""};
    }
  }
  plan.nics.push_back(NamedNic{std::string(parts[0]), *rx});
  plan.emulator.nics.push_back(ocs::EmulatedNic{*tx, *rx});
  return Status();
}

Status add_user(Plan& plan, std::string_view text) {
  const auto parts = ocs::split(text, ':');
  const std::vector<std::pair<std::string_view, ocs::UserGroup>> groups = {
      {"admin", ocs::UserGroup::kAdmin},
      {"user", ocs::UserGroup::kUser},
      {"view", ocs::UserGroup::kView}};
  const std::string_view wanted = parts.size() == 3 ? parts[2] : "admin";
  const auto group = std::ranges::find(groups, wanted, &decltype(groups)::value_type::first);
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty() || parts[1].empty() ||
      group == groups.end()) {
    return Error{fmt::format("--user {}: write NAME:FILE or NAME:FILE:GROUP, where FILE holds the "
                             "password and GROUP is admin, user or view",
                             text),
                 ""};
  }
  const Result<std::string> content = scenario::read_text_file(std::string(parts[1]));
  if (!content) {
    return content.error();
  }
  const std::string_view line = std::string_view(*content).substr(0, content->find('\n'));
  plan.emulator.users.push_back(ocs::EmulatedUser{
      std::string(parts[0]), ocs::Secret(std::string(ocs::trimmed(line))), group->second});
  return Status();
}

Result<Plan> make_plan(const EmulateOptions& options) {
  Plan plan;
  const Result<ocs::SwitchSize> size = ocs::parse_switch_size(options.ports);
  if (!size) {
    return size.error();
  }
  plan.emulator.size = *size;
  plan.emulator.sid = options.sid;
  plan.emulator.seed = options.seed;
  for (const std::string& knob : options.knobs) {
    if (Status status = ocs::set_knob(plan.emulator.knobs, knob); !status) {
      return status.error();
    }
  }
  for (const std::string& nic : options.nics) {
    if (Status status = add_nic(plan, nic); !status) {
      return status.error();
    }
  }
  if (options.nics.empty()) {
    for (const ocs::EmulatedNic& nic : ocs::default_nics(*size)) {
      plan.nics.push_back(NamedNic{fmt::format("ocs{}", plan.nics.size() + 1), nic.rx});
    }
  }
  for (const std::string& user : options.users) {
    if (Status status = add_user(plan, user); !status) {
      return status.error();
    }
  }
  const Result<net::HostPort> tcp = net::parse_host_port(options.tcp);
  if (!tcp) {
    return tcp.error();
  }
  plan.places.tcp = *tcp;
  if (!options.control.empty()) {
    plan.places.control = options.control;
  }
  if (!options.sysfs.empty()) {
    plan.places.sysfs = options.sysfs;
  }
  return plan;
}

int run_emulate(const EmulateOptions& options) {
  Result<Plan> plan = make_plan(options);
  if (!plan) {
    return report_usage_error(plan.error());
  }
  net::AsioLoop loop;
  const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  plan->emulator.unix_time_at_zero =
      std::chrono::duration_cast<std::chrono::seconds>(unix_time - loop.now().time_since_epoch())
          .count();
  EmulatorServer server(loop, plan->emulator, plan->nics);
  loop.on_signals({SIGINT, SIGTERM}, [&loop](int /*signal*/) { loop.stop(); });
  if (const Status started = server.start(plan->places); !started) {
    return report_failure(started.error());
  }
  const net::HostPort address{plan->places.tcp.host, server.tcp_port()};
  if (options.json) {
    print_json({{"tcp", address.text()},
                {"ports", ocs::text_of(plan->emulator.size)},
                {"nics", plan->nics.size()}});
  } else {
    print_text(fmt::format("emulating a {} switch at {}\n", ocs::text_of(plan->emulator.size),
                           address.text()));
  }
  // Whoever started it waits for this line.
  if (const int code = finish_output(kExitOk); code != kExitOk) {
    return code;
  }
  loop.run();
  return server.failure() ? report_failure(*server.failure()) : kExitOk;
}

}  // namespace

void add_ocs_emulate_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<EmulateOptions>();
  CLI::App* command = ocs.add_subcommand("emulate", "be an optical switch, for TL1 clients");
  command->add_option("--ports", options->ports, "48x48, or 114xCC when any port goes to any")
      ->capture_default_str();
  command->add_option("--tcp", options->tcp, "where TL1 is spoken; port 0: one that is free")
      ->capture_default_str();
  command->add_option("--control", options->control,
                      "a Unix socket for faults: see `mixnet ocs fault`");
  command->add_option("--sysfs", options->sysfs,
                      "a directory to keep DIR/class/net/<interface>/carrier in, as /sys does");
  command
      ->add_option("--nic", options->nics,
                   "NAME:TX:RX, a NIC and the ports of its fibres; again for more (default: "
                   "ocs1, ocs2, ... with TX = k, RX = N + k)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--knob", options->knobs,
                   "NAME=VALUE, one of the settings below; again for more")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--user", options->users,
                   "NAME:FILE[:GROUP], the password in FILE, GROUP admin, user or view; again for "
                   "more (default: admin with the password root)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option(kNameOfSwitch, options->sid, "name of the switch; \"\" for none")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "root of all random streams")->capture_default_str();
  command->add_flag("--json", options->json, "print the address as one JSON object");
  command->footer(
      "Ends at SIGINT or SIGTERM.\nExample: mixnet ocs emulate --ports 48x48 --tcp "
      "127.0.0.1:3082 --control /tmp/ocs.sock --knob busy_port=deny\n\nKnobs:\n" +
      ocs::describe_knobs());
  command->callback([options, &outcome] { outcome.exit_code = run_emulate(*options); });
}

}  // namespace mixnet::cli
