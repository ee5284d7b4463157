#include "ocs/region_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ocs/switch_view.h"

namespace mixnet::ocs {
namespace {

bool same_alarms(const std::vector<Alarm>& a, const std::vector<Alarm>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Alarm& x, const Alarm& y) {
    return x.kind == y.kind && x.subject == y.subject;
  });
}

bool same_shutters(const std::vector<PortState>& a, const std::vector<PortState>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PortState& x, const PortState& y) {
                      return x.port == y.port && x.shutter_open == y.shutter_open;
                    });
}

bool same_but_power(const Topology& a, const Topology& b) {
  return a.read == b.read && a.connected == b.connected && a.switch_name == b.switch_name &&
         a.switch_model == b.switch_model && a.intent == b.intent && a.settled == b.settled &&
         a.circuits == b.circuits && a.foreign == b.foreign && a.quarantined == b.quarantined &&
         same_alarms(a.alarms, b.alarms) && same_shutters(a.ports, b.ports);
}

}  // namespace

RegionState::RegionState(const Region& region, const ControllerOptions& options)
    : region_(region), options_(options) {}

void RegionState::restore(TransactionId id, std::vector<Circuit> circuits, bool settled) {
  stale_ = true;
  intent_ = id;
  intended_ = std::move(circuits);
  std::sort(intended_.begin(), intended_.end());
  settled_ = settled;
  if (settled) {
    expected_ = intended_;
  }
}

std::optional<std::vector<Circuit>> RegionState::expected() const {
  if (!expected_.has_value()) {
    return std::nullopt;
  }
  // What was asked for and came late is expected too.
  std::vector<Circuit> all;
  std::set_union(expected_->begin(), expected_->end(), intended_.begin(), intended_.end(),
                 std::back_inserter(all));
  return all;
}

std::map<NicId, std::string> RegionState::unusable() const {
  std::map<NicId, std::string> unusable;
  for (const auto& [nic, quarantine] : quarantined_) {
    unusable.emplace(nic, quarantine.why);
  }
  return unusable;
}

std::set<Circuit> RegionState::relinking(Instant now) const {
  std::set<Circuit> relinking;
  for (const auto& [circuit, changed] : changed_at_) {
    if (now < changed + options_.relink_window) {
      relinking.insert(circuit);
    }
  }
  return relinking;
}

void RegionState::absorb(const Transaction& transaction, Instant now) {
  stale_ = true;
  if (transaction.job().change) {
    absorb_intent(transaction);
    count_failures(transaction, now);
  }
  if (!transaction.journal_error().empty()) {
    alarms_.raise(AlarmKind::kJournal, "journal", transaction.journal_error(), now);
  } else if (transaction.job().change) {
    alarms_.clear(AlarmKind::kJournal, "journal");
  }
  if (transaction.has_read()) {
    absorb_readings(transaction);
    if (!transaction.job().change) {
      alarms_.clear(AlarmKind::kEventsLost, "events");  // everything was read, not only circuits
    }
    tick(now);
    raise_alarms(now);
  }
}

void RegionState::absorb_intent(const Transaction& transaction) {
  const ApplyReport& report = transaction.report();
  if (report.id == 0) {
    return;  // nothing was begun: what was wanted before still is
  }
  intent_ = report.id;
  intended_ = transaction.job().wanted;
  settled_ = transaction.settled();
  expected_.reset();
  known_absent_.clear();
  std::vector<Circuit> there;
  for (const CircuitReport& circuit : report.circuits) {
    const bool present = circuit.wanted ? circuit.outcome == PairOutcome::kVerified ||
                                              circuit.outcome == PairOutcome::kDark
                                        : circuit.outcome != PairOutcome::kVerified;
    if (present) {
      there.push_back(circuit.circuit);
    } else if (circuit.wanted) {
      known_absent_.insert(circuit.circuit);
    }
    if (circuit.changed) {
      changed_at_[circuit.circuit] = transaction.wrote_at();
    }
  }
  if (settled_) {
    expected_ = std::move(there);
  }
}

void RegionState::count_failures(const Transaction& transaction, Instant now) {
  for (const CircuitReport& report : transaction.report().circuits) {
    const std::vector<NicId> nics = {report.circuit.a, report.circuit.b};
    if (!report.wanted || quarantined_.count(nics[0]) + quarantined_.count(nics[1]) > 0) {
      continue;
    }
    if (report.outcome == PairOutcome::kVerified) {
      failures_.erase(nics[0]);
      failures_.erase(nics[1]);
      continue;
    }
    const auto check = transaction.checks().find(report.circuit);
    const PortId port = check == transaction.checks().end() ? PortId() : check->second.port;
    const bool dark = report.outcome == PairOutcome::kDark && report.step != CheckStep::kShutter &&
                      (report.step != CheckStep::kCarrier || transaction.waited_for_carriers());
    if (!dark && transaction.failed().count(report.circuit) == 0) {
      continue;
    }
    for (const NicId nic : nics) {
      if (port.valid() && region_.nic_at(port) != nic) {
        continue;  // the light that is missing is the other one's
      }
      if (++failures_[nic] < options_.failures_to_quarantine) {
        continue;
      }
      failures_.erase(nic);
      quarantined_[nic] = {now + options_.quarantine,
                           fmt::format("{} failed {} times in a row and is not used for {:.0f} s; "
                                       "the last time: {}",
                                       region_.nic(nic).name, options_.failures_to_quarantine,
                                       seconds_of(options_.quarantine), report.message),
                           port};
    }
  }
}

void RegionState::absorb_readings(const Transaction& transaction) {
  was_read_ = true;
  const Readings& read = transaction.readings();
  readings_.patches = read.patches;
  for (const auto& [port, open] : read.shutter_open) {
    readings_.shutter_open[port] = open;
  }
  for (const auto& [port, dbm] : read.dbm) {
    readings_.dbm[port] = dbm;
  }
  const SwitchView view = view_of(region_, readings_.patches);
  std::erase_if(checks_, [&](const auto& check) { return !view.has(check.first); });
  std::erase_if(changed_at_, [&](const auto& change) { return !view.has(change.first); });
  for (const auto& [circuit, check] : transaction.checks()) {
    checks_[circuit] = check;
  }
  if (!intent_.has_value() && !expected_.has_value()) {
    intended_ = view.circuits;  // adopted
    expected_ = view.circuits;
  }
}

void RegionState::tick(Instant now) {
  if (quarantined_.empty()) {
    return;
  }
  std::map<std::string, std::string> standing;
  for (auto entry = quarantined_.begin(); entry != quarantined_.end();) {
    const Quarantine& quarantine = entry->second;
    const auto power = readings_.dbm.find(quarantine.dark_port);
    const bool lit =
        power != readings_.dbm.end() && power->second >= options_.least_dbm;  // none is less
    if (now >= quarantine.until || lit) {
      entry = quarantined_.erase(entry);
      stale_ = true;
    } else {
      standing.emplace(region_.nic(entry->first).name, quarantine.why);
      ++entry;
    }
  }
  alarms_.replace(AlarmKind::kQuarantine, standing, now);
}

void RegionState::raise_alarms(Instant now) {
  const std::set<Circuit> coming_back = relinking(now);
  const SwitchView view = view_of(region_, readings_.patches);
  std::map<std::string, std::string> foreign;
  for (const Patch& patch : view.foreign) {
    foreign.emplace(fmt::format("{},{}", patch.ingress.value, patch.egress.value),
                    "an owned port is patched to where no circuit goes");
  }
  std::map<std::string, std::string> halves;
  for (const HalfCircuit& half : view.halves) {
    halves.emplace(region_.name_of(half.circuit),
                   fmt::format("only {},{} of it is there", half.present.ingress.value,
                               half.present.egress.value));
  }
  std::map<std::string, std::string> dark;
  std::map<std::string, std::string> shutters;
  for (const auto& [circuit, check] : checks_) {
    if (check.passed || (check.step == CheckStep::kCarrier && coming_back.count(circuit) > 0)) {
      continue;
    }
    auto& kind = check.step == CheckStep::kShutter ? shutters : dark;
    kind.emplace(region_.name_of(circuit), check.message);
  }
  alarms_.replace(AlarmKind::kForeignPatch, foreign, now);
  alarms_.replace(AlarmKind::kHalfCircuit, halves, now);
  alarms_.replace(AlarmKind::kDark, dark, now);
  alarms_.replace(AlarmKind::kShutter, shutters, now);
  raise_drift_alarms(view, now);
}

void RegionState::raise_drift_alarms(const SwitchView& view, Instant now) {
  std::map<std::string, std::string> drift;
  if (settled_) {
    for (const Circuit& circuit : view.circuits) {
      if (!contains(intended_, circuit)) {
        drift.emplace(region_.name_of(circuit),
                      "it is on the switch, and nobody asked this controller for it");
      }
    }
    for (const Circuit& circuit : intended_) {
      if (!view.has(circuit) && known_absent_.count(circuit) == 0) {
        drift.emplace(region_.name_of(circuit), "it was asked for, and is no longer on the switch");
      }
    }
  }
  alarms_.replace(AlarmKind::kOtherWriter, drift, now);
}

void RegionState::session_came(std::string sid) {
  stale_ = true;
  connected_ = true;
  switch_name_ = std::move(sid);
  alarms_.clear(AlarmKind::kSession, options_.session.peer);
  alarms_.clear(AlarmKind::kLogin, options_.session.peer);
}

void RegionState::session_went(const std::string& why, Instant now) {
  stale_ = true;
  connected_ = false;
  alarms_.raise(AlarmKind::kSession, options_.session.peer, why, now);
}

void RegionState::set_model(std::string model) {
  stale_ = true;
  switch_model_ = std::move(model);
}

bool RegionState::refresh() {
  // Nothing that it follows from has changed: most ticks of the controller end here.
  const bool stale = std::exchange(stale_, false);
  if (!alarms_.take_changed() && !stale) {
    return false;
  }
  Topology next;
  next.version = topology_.version;
  next.read = was_read_;
  next.connected = connected_;
  next.switch_name = switch_name_;
  next.switch_model = switch_model_;
  next.intent = intent_;
  next.settled = settled_;
  const SwitchView view = view_of(region_, readings_.patches);
  next.foreign = view.foreign;
  std::set<Circuit> all(intended_.begin(), intended_.end());
  all.insert(view.circuits.begin(), view.circuits.end());
  for (const Circuit& circuit : all) {
    const auto check = checks_.find(circuit);
    const bool checked = check != checks_.end() && view.has(circuit);
    next.circuits.push_back({circuit, contains(intended_, circuit), view.has(circuit),
                             checked && check->second.passed,
                             checked ? check->second.step : CheckStep::kPatch});
  }
  for (const PortId port : region_.owned().ports()) {
    const auto power = readings_.dbm.find(port);
    const auto shutter = readings_.shutter_open.find(port);
    next.ports.push_back({port, power == readings_.dbm.end() ? std::nullopt : power->second,
                          shutter == readings_.shutter_open.end() || shutter->second});
  }
  for (const auto& [nic, quarantine] : quarantined_) {
    next.quarantined.push_back(nic);
  }
  next.alarms = alarms_.all();
  const bool changed = !same_but_power(next, topology_);
  if (changed) {
    ++next.version;
  }
  topology_ = std::move(next);
  return changed;
}

}  // namespace mixnet::ocs
