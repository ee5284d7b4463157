#include "cli/region_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/table.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;
using report::Align;
using report::Table;

const char* yes(bool value) { return value ? "yes" : "no"; }

std::string dbm_text(const v1::PortState& port) {
  return port.has_dbm() ? fmt::format("{:.1f}", port.dbm()) : "-";
}

std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string heading(const StatusView& view) {
  const v1::Topology& topology = view.topology;
  const daemon::SwitchConfig& ocs = view.config.ocs;
  std::string text = fmt::format("region {}: switch {} at {}", topology.region(),
                                 topology.switch_name().empty() ? "-" : topology.switch_name(),
                                 ocs.tcp.empty() ? ocs.ssh : ocs.tcp);
  if (!topology.switch_model().empty()) {
    text += fmt::format(" ({})", topology.switch_model());
  }
  const auto operational =
      std::count_if(topology.circuits().begin(), topology.circuits().end(),
                    [](const v1::CircuitState& circuit) { return circuit.operational(); });
  text += fmt::format("\nasked: {}\n{}; ", view.way,
                      topology.connected() ? "connected" : "NOT CONNECTED, as it was read last");
  text += topology.intent() == 0
              ? "no transaction yet"
              : fmt::format("transaction {} {}", topology.intent(),
                            topology.settled() ? "is settled" : "IS NOT SETTLED");
  return text +
         fmt::format("; {} of {} circuits operational\n", operational, topology.circuits_size());
}

std::string circuit_table(const v1::Topology& topology) {
  Table table({{"circuit", Align::kLeft},
               {"intended", Align::kLeft},
               {"configured", Align::kLeft},
               {"operational", Align::kLeft},
               {"checked up to", Align::kLeft}});
  for (const v1::CircuitState& circuit : topology.circuits()) {
    table.add_row({circuit_name(circuit), yes(circuit.intended()), yes(circuit.configured()),
                   yes(circuit.operational()), step_name(circuit.step())});
  }
  return table.text();
}

std::string port_table(const v1::Topology& topology) {
  Table table({{"port"}, {"NIC", Align::kLeft}, {"power (dBm)"}, {"shutter", Align::kLeft}});
  for (const v1::PortState& port : topology.ports()) {
    table.add_row({std::to_string(port.port()), port.nic(), dbm_text(port),
                   port.shutter_open() ? "open" : "closed"});
  }
  return table.text();
}

std::string alarm_table(const v1::Topology& topology) {
  Table table({{"alarm", Align::kLeft},
               {"since", Align::kLeft},
               {"subject", Align::kLeft},
               {"message", Align::kLeft}});
  for (const v1::Alarm& alarm : topology.alarms()) {
    table.add_row({alarm.kind(), date_text(alarm.since()), alarm.subject(), alarm.message()});
  }
  return table.text();
}

std::string shares_text(const v1::Shares& shares) {
  double circuit = 0;
  double eps = 0;
  for (const double amount : shares.circuit()) {
    circuit += amount;
  }
  for (const double amount : shares.eps()) {
    eps += amount;
  }
  double relay = 0;
  for (const v1::RelayShare& share : shares.relay()) {
    relay += share.amount();
  }
  const double total = circuit + eps + relay;
  if (total == 0) {
    return "shares: no server sends anything to another\n";
  }
  std::string text = fmt::format(
      "shares ({}, over VERIFIED circuits): {:.1f} % of the demand over circuits, "
      "{}{:.1f} % over electrical NICs\n",
      shares.allocator(), 100 * circuit / total,
      relay > 0 ? fmt::format("{:.1f} % over a relay, ", 100 * relay / total) : "",
      100 * eps / total);
  if (!std::isfinite(shares.completion())) {
    return text + "completion: never, for a pair has none of these\n";
  }
  return text +
         fmt::format("completion: {:.3f} times the bound\n", shares.completion() / shares.bound());
}

}  // namespace

std::string date_text(double unix_s) {
  const auto ms = static_cast<int64_t>(std::floor(unix_s * 1000));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

std::string step_name(v1::Step step) {
  std::string name = step == v1::STEP_UNSPECIFIED ? "-" : v1::Step_Name(step);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return name;
}

std::vector<v1::PortState> dark_ports(const daemon::RegionConfig& config,
                                      const v1::Topology& topology) {
  std::set<std::string> in_use;
  for (const v1::CircuitState& circuit : topology.circuits()) {
    if (circuit.configured()) {
      in_use.insert({circuit.a(), circuit.b()});
    }
  }
  std::vector<v1::PortState> dark;
  for (const v1::PortState& port : topology.ports()) {
    if (in_use.contains(port.nic()) && port.has_dbm() && port.dbm() < config.options.least_dbm) {
      dark.push_back(port);
    }
  }
  return dark;
}

bool all_is_well(const v1::Topology& topology) {
  return topology.connected() && topology.settled() && topology.alarms().empty() &&
         topology.foreign().empty() &&
         std::ranges::all_of(topology.circuits(), &v1::CircuitState::operational);
}

std::string status_text(const StatusView& view) {
  const v1::Topology& topology = view.topology;
  std::string text = heading(view);
  if (!topology.circuits().empty()) {
    text += "\n" + circuit_table(topology);
  }
  if (view.ports) {
    text += "\n" + port_table(topology);
  }
  text += "\n";
  for (const v1::Patch& patch : topology.foreign()) {
    text += fmt::format("foreign patch: {} to {}\n", patch.ingress(), patch.egress());
  }
  for (const v1::PortState& port : dark_ports(view.config, topology)) {
    text += fmt::format("dark port: {} of {}, {} dBm\n", port.port(), port.nic(), dbm_text(port));
  }
  if (!topology.quarantined().empty()) {
    text += fmt::format("in quarantine: {}\n", joined(topology.quarantined()));
  }
  return text + (topology.alarms().empty() ? "no alarms\n" : alarm_table(topology));
}

bool agrees(const v1::CircuitState& circuit) {
  return circuit.intended() && circuit.configured() && circuit.operational();
}

bool all_agree(const v1::Topology& topology) {
  return topology.foreign().empty() && std::ranges::all_of(topology.circuits(), agrees);
}

std::string diff_text(const v1::Topology& topology) {
  if (all_agree(topology)) {
    return fmt::format("no differences: {} circuit{}\n", topology.circuits_size(),
                       topology.circuits_size() == 1 ? "" : "s");
  }
  Table table({{"circuit", Align::kLeft},
               {"intended", Align::kLeft},
               {"configured", Align::kLeft},
               {"operational", Align::kLeft}});
  for (const v1::CircuitState& circuit : topology.circuits()) {
    if (!agrees(circuit)) {
      const bool dark = circuit.configured() && !circuit.operational();
      table.add_row({circuit_name(circuit), yes(circuit.intended()), yes(circuit.configured()),
                     dark ? "no, " + step_name(circuit.step()) : yes(circuit.operational())});
    }
  }
  for (const v1::Patch& patch : topology.foreign()) {
    table.add_row(
        {fmt::format("foreign patch {} to {}", patch.ingress(), patch.egress()), "no", "yes", "-"});
  }
  return table.text();
}

bool all_verified(const v1::ApplyReply& reply) {
  return std::ranges::all_of(reply.circuits(), [](const v1::CircuitResult& circuit) {
    return circuit.outcome() == v1::VERIFIED || circuit.outcome() == v1::OUTCOME_UNSPECIFIED;
  });
}

std::string reply_text(const v1::ApplyReply& reply) {
  Table table({{"circuit", Align::kLeft},
               {"wanted", Align::kLeft},
               {"switched", Align::kLeft},
               {"outcome", Align::kLeft},
               {"checked up to", Align::kLeft},
               {"message", Align::kLeft}});
  for (const v1::CircuitResult& circuit : reply.circuits()) {
    table.add_row({circuit_name(circuit), yes(circuit.wanted()), yes(circuit.changed()),
                   v1::Outcome_Name(circuit.outcome()), step_name(circuit.step()),
                   circuit.message()});
  }
  const auto verified =
      std::ranges::count(reply.circuits(), v1::VERIFIED, &v1::CircuitResult::outcome);
  std::string text = reply.circuits().empty() ? "" : table.text() + "\n";
  if (reply.transaction() != 0) {
    text += fmt::format("transaction {}: ", reply.transaction());
  }
  text += fmt::format("{} of {} circuits VERIFIED; {:.1f} ms in all, {:.1f} ms of it switching\n",
                      verified, reply.circuits_size(), reply.total_ms(), reply.switching_ms());
  for (const std::string& note : reply.notes()) {
    text += "note: " + note + "\n";
  }
  return reply.has_shares() ? text + shares_text(reply.shares()) : text;
}

std::string dry_run_text(const v1::ApplyReply& reply) {
  std::string text;
  for (const v1::CircuitResult& circuit : reply.circuits()) {
    if (circuit.outcome() == v1::OUTCOME_UNSPECIFIED) {
      text +=
          fmt::format("would {} {}\n", circuit.wanted() ? "add" : "remove", circuit_name(circuit));
    } else {
      text += fmt::format("blocked {}: {}, {}\n", circuit_name(circuit),
                          v1::Outcome_Name(circuit.outcome()), circuit.message());
    }
  }
  for (const std::string& command : reply.commands()) {
    text += "would send " + command + "\n";
  }
  return text + (reply.commands().empty() ? "nothing to switch; nothing was sent\n"
                                          : "nothing was sent\n");
}

}  // namespace mixnet::cli
