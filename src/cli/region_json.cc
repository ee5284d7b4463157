#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/region_view.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;
using Json = nlohmann::ordered_json;

Json numbers(const google::protobuf::RepeatedField<double>& values) {
  return std::vector<double>(values.begin(), values.end());
}

Json shares_json(const v1::Shares& shares) {
  // JSON has no infinity.
  const auto finite = [](double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  };
  Json relay = Json::array();
  for (const v1::RelayShare& share : shares.relay()) {
    relay.push_back({{"src", share.src()},
                     {"via", share.via()},
                     {"dst", share.dst()},
                     {"amount", share.amount()}});
  }
  return {{"servers", shares.servers()},
          {"allocator", shares.allocator()},
          {"circuits", std::vector<int>(shares.circuits().begin(), shares.circuits().end())},
          {"circuit", numbers(shares.circuit())},
          {"eps", numbers(shares.eps())},
          {"relay", std::move(relay)},
          {"completion", finite(shares.completion())},
          {"bound", finite(shares.bound())}};
}

Json state_json(const v1::CircuitState& circuit) {
  return {{"a", circuit.a()},
          {"b", circuit.b()},
          {"intended", circuit.intended()},
          {"configured", circuit.configured()},
          {"operational", circuit.operational()},
          {"step", step_name(circuit.step())}};
}

Json port_json(const v1::PortState& port) {
  return {{"port", port.port()},
          {"nic", port.nic()},
          {"dbm", port.has_dbm() ? Json(port.dbm()) : nullptr},
          {"shutter_open", port.shutter_open()}};
}

Json foreign_json(const v1::Topology& topology) {
  auto list = Json::array();
  for (const v1::Patch& patch : topology.foreign()) {
    list.push_back({{"ingress", patch.ingress()}, {"egress", patch.egress()}});
  }
  return list;
}

}  // namespace

Json status_json(const StatusView& view) {
  const v1::Topology& topology = view.topology;
  const daemon::SwitchConfig& ocs = view.config.ocs;
  Json object = {{"region", topology.region()},
                 {"asked", view.way},
                 {"well", all_is_well(topology)},
                 {"connected", topology.connected()},
                 {"switch",
                  {{"name", topology.switch_name()},
                   {"model", topology.switch_model()},
                   {"address", ocs.tcp.empty() ? ocs.ssh : ocs.tcp}}},
                 {"transaction", topology.intent()},
                 {"settled", topology.settled()},
                 {"circuits", Json::array()},
                 {"foreign", foreign_json(topology)},
                 {"dark_ports", Json::array()},
                 {"quarantined", std::vector<std::string>(topology.quarantined().begin(),
                                                          topology.quarantined().end())},
                 {"alarms", Json::array()}};
  for (const v1::CircuitState& circuit : topology.circuits()) {
    object["circuits"].push_back(state_json(circuit));
  }
  for (const v1::PortState& port : dark_ports(view.config, topology)) {
    object["dark_ports"].push_back(port_json(port));
  }
  for (const v1::Alarm& alarm : topology.alarms()) {
    object["alarms"].push_back({{"kind", alarm.kind()},
                                {"subject", alarm.subject()},
                                {"message", alarm.message()},
                                {"since", date_text(alarm.since())}});
  }
  if (view.ports) {
    object["ports"] = Json::array();
    for (const v1::PortState& port : topology.ports()) {
      object["ports"].push_back(port_json(port));
    }
  }
  return object;
}

Json diff_json(const v1::Topology& topology) {
  Json object = {{"region", topology.region()},
                 {"settled", topology.settled()},
                 {"differences", Json::array()},
                 {"foreign", foreign_json(topology)}};
  for (const v1::CircuitState& circuit : topology.circuits()) {
    if (!agrees(circuit)) {
      object["differences"].push_back(state_json(circuit));
    }
  }
  return object;
}

Json reply_json(const v1::ApplyReply& reply) {
  Json object = {
      {"transaction", reply.transaction()},
      {"all_verified", all_verified(reply)},
      {"circuits", Json::array()},
      {"total_ms", reply.total_ms()},
      {"switching_ms", reply.switching_ms()},
      {"commands", std::vector<std::string>(reply.commands().begin(), reply.commands().end())},
      {"notes", std::vector<std::string>(reply.notes().begin(), reply.notes().end())}};
  for (const v1::CircuitResult& circuit : reply.circuits()) {
    const bool planned = circuit.outcome() == v1::OUTCOME_UNSPECIFIED;
    object["circuits"].push_back(
        {{"a", circuit.a()},
         {"b", circuit.b()},
         {"wanted", circuit.wanted()},
         {"switched", circuit.changed()},
         {"outcome", planned ? Json(nullptr) : Json(v1::Outcome_Name(circuit.outcome()))},
         {"step", planned ? Json(nullptr) : Json(step_name(circuit.step()))},
         {"message", circuit.message()}});
  }
  if (reply.has_shares()) {
    object["shares"] = shares_json(reply.shares());
  }
  return object;
}

}  // namespace mixnet::cli
