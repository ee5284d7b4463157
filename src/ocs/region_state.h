#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ocs/alarm_book.h"
#include "ocs/circuit_checks.h"
#include "ocs/controller_options.h"
#include "ocs/journal.h"
#include "ocs/region_report.h"
#include "ocs/transaction.h"

namespace mixnet::ocs {

// What is known of a region, and the alarms that follow from it. Three views of every circuit:
// intended (the last intent), configured (the switch) and operational (light and link).
class RegionState {
 public:
  // Both outlive the state.
  RegionState(const Region& region, const ControllerOptions& options);

  // The intent of an earlier run. What should be on the switch is known only if it was settled.
  void restore(TransactionId id, std::vector<Circuit> circuits, bool settled);
  // What a finished transaction read and did.
  void absorb(const Transaction& transaction, Instant now);
  void session_came(std::string sid);
  void session_went(const std::string& why, Instant now);
  void set_model(std::string model);
  // Lifts quarantines that are over.
  void tick(Instant now);

  AlarmBook& alarms() { return alarms_; }
  const std::vector<Circuit>& intended() const { return intended_; }
  std::optional<TransactionId> intent() const { return intent_; }
  bool settled() const { return settled_; }
  // What should be on the switch; none: not known.
  std::optional<std::vector<Circuit>> expected() const;
  // NICs that are not used, and why.
  std::map<NicId, std::string> unusable() const;
  // Were switched within the relink window.
  std::set<Circuit> relinking(Instant now) const;
  bool was_read() const { return was_read_; }
  const Readings& readings() const { return readings_; }

  // Brings the topology up to date; true if anything but power readings changed.
  bool refresh();
  const Topology& topology() const { return topology_; }

 private:
  struct Quarantine {
    Instant until;
    std::string why;
    PortId dark_port;  // its light coming back ends it
  };

  void absorb_readings(const Transaction& transaction);
  void absorb_intent(const Transaction& transaction);
  void count_failures(const Transaction& transaction, Instant now);
  void raise_alarms(Instant now);
  void raise_drift_alarms(const SwitchView& view, Instant now);

  const Region& region_;
  const ControllerOptions& options_;
  AlarmBook alarms_;
  Readings readings_;
  bool was_read_ = false;
  std::optional<TransactionId> intent_;
  bool settled_ = true;
  std::vector<Circuit> intended_;
  std::optional<std::vector<Circuit>> expected_;
  std::set<Circuit> known_absent_;  // the last report said so
  std::map<Circuit, CircuitCheck> checks_;
  std::map<Circuit, Instant> changed_at_;
  std::map<NicId, int> failures_;
  std::map<NicId, Quarantine> quarantined_;
  bool connected_ = false;
  std::string switch_name_;
  std::string switch_model_;
  bool stale_ = true;  // what the topology follows from has changed
  Topology topology_;
};

}  // namespace mixnet::ocs
