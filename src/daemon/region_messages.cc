#include "daemon/region_messages.h"

#include <fmt/format.h>

#include <cmath>

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;

v1::Outcome outcome_of(ocs::PairOutcome outcome) {
  switch (outcome) {
    case ocs::PairOutcome::kVerified:
      return v1::VERIFIED;
    case ocs::PairOutcome::kRefused:
      return v1::REFUSED;
    case ocs::PairOutcome::kUnknown:
      return v1::UNKNOWN;
    case ocs::PairOutcome::kConflict:
      return v1::CONFLICT;
    case ocs::PairOutcome::kDark:
      return v1::DARK;
  }
  CHECK(false, "an outcome without a message");
}

v1::Step step_of(ocs::CheckStep step) {
  switch (step) {
    case ocs::CheckStep::kPatch:
      return v1::PATCH;
    case ocs::CheckStep::kShutter:
      return v1::SHUTTER;
    case ocs::CheckStep::kPower:
      return v1::POWER;
    case ocs::CheckStep::kCarrier:
      return v1::CARRIER;
  }
  CHECK(false, "a step without a message");
}

double ms_of(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void fill_result(const ocs::Region& region, const ocs::CircuitReport& report,
                 v1::CircuitResult& result) {
  result.set_a(region.nic(report.circuit.a).name);
  result.set_b(region.nic(report.circuit.b).name);
  result.set_wanted(report.wanted);
  result.set_changed(report.changed);
  result.set_outcome(outcome_of(report.outcome));
  result.set_step(step_of(report.step));
  result.set_message(report.message);
}

void fill_planned(const ocs::Region& region, const std::vector<ocs::Circuit>& circuits, bool wanted,
                  v1::ApplyReply& reply) {
  for (const ocs::Circuit circuit : circuits) {
    v1::CircuitResult& result = *reply.add_circuits();
    result.set_a(region.nic(circuit.a).name);
    result.set_b(region.nic(circuit.b).name);
    result.set_wanted(wanted);
    result.set_changed(true);
  }
}

void fill_preview(const ocs::Region& region, const ocs::ChangePreview& preview,
                  v1::ApplyReply& reply) {
  fill_planned(region, preview.remove, false, reply);
  fill_planned(region, preview.add, true, reply);
  for (const ocs::CircuitReport& blocked : preview.blocked) {
    fill_result(region, blocked, *reply.add_circuits());
  }
  for (const std::string& command : preview.commands) {
    reply.add_commands(command);
  }
}

template <typename T, typename Field>
void fill_matrix(const Matrix<T>& matrix, Field& field) {
  field.Reserve(static_cast<int>(matrix.cells().size()));
  for (const T cell : matrix.cells()) {
    field.Add(cell);
  }
}

void fill_circuits(const ocs::Region& region, const ocs::Topology& topology,
                   v1::Topology& message) {
  for (const ocs::CircuitState& state : topology.circuits) {
    v1::CircuitState& circuit = *message.add_circuits();
    circuit.set_a(region.nic(state.circuit.a).name);
    circuit.set_b(region.nic(state.circuit.b).name);
    circuit.set_intended(state.intended);
    circuit.set_configured(state.configured);
    circuit.set_operational(state.operational);
    circuit.set_step(step_of(state.step));
  }
  for (const ocs::Patch patch : topology.foreign) {
    v1::Patch& foreign = *message.add_foreign();
    foreign.set_ingress(patch.ingress.value);
    foreign.set_egress(patch.egress.value);
  }
}

void fill_ports(const ocs::Region& region, const ocs::Topology& topology, v1::Topology& message) {
  for (const ocs::PortState& state : topology.ports) {
    v1::PortState& port = *message.add_ports();
    port.set_port(state.port.value);
    if (const ocs::NicId nic = region.nic_at(state.port); nic.valid()) {
      port.set_nic(region.nic(nic).name);
    }
    if (state.dbm.has_value()) {
      port.set_dbm(*state.dbm);
    }
    port.set_shutter_open(state.shutter_open);
  }
  for (const ocs::NicId nic : topology.quarantined) {
    message.add_quarantined(region.nic(nic).name);
  }
}

}  // namespace

v1::Topology topology_message(const std::string& name, const ocs::Region& region,
                              const ocs::Topology& topology, const WallClock& clock) {
  v1::Topology message;
  message.set_version(topology.version);
  message.set_region(name);
  message.set_connected(topology.connected);
  message.set_read(topology.read);
  message.set_switch_name(topology.switch_name);
  message.set_switch_model(topology.switch_model);
  message.set_intent(topology.intent.value_or(0));
  message.set_settled(topology.settled);
  fill_circuits(region, topology, message);
  fill_ports(region, topology, message);
  for (const ocs::Alarm& raised : topology.alarms) {
    v1::Alarm& alarm = *message.add_alarms();
    alarm.set_kind(std::string(ocs::name_of(raised.kind)));
    alarm.set_subject(raised.subject);
    alarm.set_message(raised.message);
    alarm.set_since(clock.date_of(raised.since));
  }
  return message;
}

void fill_reply(const ocs::Region& region, const RegionAnswer& answer, v1::ApplyReply& reply) {
  for (const ocs::GivenUp& up : answer.given_up) {
    reply.add_notes(
        fmt::format("{} and {} got {} circuits less than planned: too few NICs are "
                    "usable",
                    region.servers()[static_cast<std::size_t>(up.a)],
                    region.servers()[static_cast<std::size_t>(up.b)], up.circuits));
  }
  if (answer.preview.has_value()) {
    fill_preview(region, *answer.preview, reply);
    return;
  }
  CHECK(answer.report.has_value(), "an answer without report or preview");
  reply.set_transaction(answer.report->id);
  reply.set_total_ms(ms_of(answer.report->total));
  reply.set_switching_ms(ms_of(answer.report->switching));
  for (const ocs::CircuitReport& report : answer.report->circuits) {
    fill_result(region, report, *reply.add_circuits());
  }
}

void fill_shares(const Wiring& wiring, const char* allocator, v1::Shares& shares) {
  shares.set_servers(static_cast<uint32_t>(wiring.circuits.rows()));
  fill_matrix(wiring.circuits, *shares.mutable_circuits());
  fill_matrix(wiring.circuit, *shares.mutable_circuit());
  fill_matrix(wiring.eps, *shares.mutable_eps());
  shares.set_completion(wiring.completion);
  shares.set_bound(wiring.bound);
  shares.set_allocator(allocator);
  for (const RelayShare& relayed : wiring.relay) {
    v1::RelayShare& share = *shares.add_relay();
    share.set_src(relayed.src);
    share.set_via(relayed.via);
    share.set_dst(relayed.dst);
    share.set_amount(relayed.amount);
  }
}

Result<DemandMatrix> demand_of(const v1::ReportDemandRequest& request, std::size_t servers) {
  if (request.servers() != servers) {
    return Error{
        fmt::format("servers: this region has {} servers, found {}", servers, request.servers()),
        ""};
  }
  if (static_cast<std::size_t>(request.demand_size()) != servers * servers) {
    return Error{fmt::format("demand: {} servers need {} * {} numbers, found {}", servers, servers,
                             servers, request.demand_size()),
                 ""};
  }
  constexpr double kMostAmount = 1e200;  // sums of more would leave the range of numbers
  DemandMatrix demand(servers, servers);
  for (std::size_t i = 0; i < servers; ++i) {
    for (std::size_t j = 0; j < servers; ++j) {
      const double amount = request.demand(static_cast<int>(i * servers + j));
      if (!std::isfinite(amount) || amount < 0 || amount > kMostAmount) {
        return Error{fmt::format("demand: entry ({}, {}) must be between 0 and {}, found {}", i, j,
                                 kMostAmount, amount),
                     ""};
      }
      demand(i, j) = i == j ? 0 : amount;
    }
  }
  return demand;
}

Result<std::vector<ocs::Circuit>> circuits_of(const v1::ApplyCircuitsRequest& request,
                                              const ocs::Region& region) {
  std::vector<ocs::Circuit> circuits;
  for (const v1::Circuit& named : request.circuits()) {
    const Result<ocs::Circuit> circuit = region.find_circuit(named.a(), named.b());
    if (!circuit.ok()) {
      return Error{"circuits: " + circuit.error().message, ""};
    }
    circuits.push_back(*circuit);
  }
  if (Status status = ocs::check_circuits(region, circuits); !status.ok()) {
    return Error{"circuits: " + status.error().message, ""};
  }
  return circuits;
}

}  // namespace mixnet::daemon
