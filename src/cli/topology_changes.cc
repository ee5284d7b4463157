#include "cli/topology_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/region_view.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;

// What two topologies are compared by: every item by its name.
template <typename Items, typename Name>
auto by_name(const Items& items, Name&& name) {
  std::map<decltype(name(*items.begin())), const typename Items::value_type*> found;
  for (const auto& item : items) {
    found.emplace(name(item), &item);
  }
  return found;
}

TopologyChange alarm_change(const char* event, double time, const v1::Alarm& alarm) {
  return {time, event, alarm.kind(), alarm.subject(), alarm.message()};
}

void compare_alarms(const v1::Topology& before, const v1::Topology& after, double now,
                    std::vector<TopologyChange>& changes) {
  const auto name = [](const v1::Alarm& alarm) { return std::pair(alarm.kind(), alarm.subject()); };
  const auto old = by_name(before.alarms(), name);
  const auto current = by_name(after.alarms(), name);
  for (const auto& [key, alarm] : old) {
    if (!current.contains(key)) {
      changes.push_back(alarm_change("alarm-cleared", now, *alarm));
    }
  }
  for (const auto& [key, alarm] : current) {
    const auto known = old.find(key);
    if (known == old.end()) {
      changes.push_back(alarm_change("alarm-raised", alarm->since(), *alarm));
    } else if (known->second->message() != alarm->message()) {
      changes.push_back(alarm_change("alarm-changed", now, *alarm));
    }
  }
}

std::string state_of(const v1::CircuitState& circuit) {
  if (!circuit.configured()) {
    return "missing";
  }
  return circuit.operational() ? "operational" : "dark";
}

std::string explanation(const v1::CircuitState& circuit) {
  return fmt::format("{}, {}, checked up to {}", circuit.intended() ? "intended" : "not intended",
                     circuit.configured() ? "configured" : "not configured",
                     step_name(circuit.step()));
}

void compare_circuits(const v1::Topology& before, const v1::Topology& after, double now,
                      std::vector<TopologyChange>& changes) {
  const auto name = [](const v1::CircuitState& circuit) { return circuit_name(circuit); };
  const auto old = by_name(before.circuits(), name);
  const auto current = by_name(after.circuits(), name);
  for (const auto& [key, circuit] : old) {
    if (!current.contains(key)) {
      changes.push_back({now, "circuit", "gone", key, ""});
    }
  }
  for (const auto& [key, circuit] : current) {
    const auto known = old.find(key);
    if (known == old.end() || state_of(*known->second) != state_of(*circuit) ||
        explanation(*known->second) != explanation(*circuit)) {
      changes.push_back({now, "circuit", state_of(*circuit), key, explanation(*circuit)});
    }
  }
}

std::set<std::string> names_of_foreign(const v1::Topology& topology) {
  std::set<std::string> names;
  for (const v1::Patch& patch : topology.foreign()) {
    names.insert(fmt::format("{} to {}", patch.ingress(), patch.egress()));
  }
  return names;
}

void compare_names(const std::set<std::string>& before, const std::set<std::string>& after,
                   const TopologyChange& appeared, const std::string& gone,
                   std::vector<TopologyChange>& changes) {
  const auto add = [&](const std::string& kind, const std::string& subject) {
    TopologyChange change = appeared;
    change.kind = kind;
    change.subject = subject;
    changes.push_back(std::move(change));
  };
  for (const std::string& name : before) {
    if (!after.contains(name)) {
      add(gone, name);
    }
  }
  for (const std::string& name : after) {
    if (!before.contains(name)) {
      add(appeared.kind, name);
    }
  }
}

TopologyChange session_change(const v1::Topology& topology, double now) {
  return {now, "session", topology.connected() ? "up" : "down", topology.region(),
          topology.switch_name()};
}

}  // namespace

std::vector<TopologyChange> changes_between(const v1::Topology& before, const v1::Topology& after,
                                            double now) {
  std::vector<TopologyChange> changes;
  if (before.connected() != after.connected()) {
    changes.push_back(session_change(after, now));
  }
  if (before.intent() != after.intent() || before.settled() != after.settled()) {
    changes.push_back({now, "transaction", after.settled() ? "settled" : "under-way",
                       std::to_string(after.intent()), ""});
  }
  compare_circuits(before, after, now, changes);
  compare_names(names_of_foreign(before), names_of_foreign(after),
                {now, "patch", "foreign", "", ""}, "gone", changes);
  compare_names({before.quarantined().begin(), before.quarantined().end()},
                {after.quarantined().begin(), after.quarantined().end()},
                {now, "quarantine", "begun", "", ""}, "over", changes);
  compare_alarms(before, after, now, changes);
  return changes;
}

std::vector<TopologyChange> standing(const v1::Topology& topology, double now) {
  std::vector<TopologyChange> lines = {session_change(topology, now)};
  const auto operational =
      std::ranges::count(topology.circuits(), true, &v1::CircuitState::operational);
  lines.front().message =
      fmt::format("{} of {} circuits operational", operational, topology.circuits_size());
  for (const v1::Alarm& alarm : topology.alarms()) {
    lines.push_back(alarm_change("alarm-raised", alarm.since(), alarm));
  }
  return lines;
}

}  // namespace mixnet::cli
