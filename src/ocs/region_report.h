#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "ocs/journal.h"
#include "ocs/region.h"

// What a region controller tells its owner.
namespace mixnet::ocs {

enum class PairOutcome {
  kVerified,  // the switch holds it, and every check that could be made passed
  kRefused,   // not carried out: the switch or this controller declined; the message says why
  kUnknown,   // no answer: it may be there or not
  kConflict,  // somebody else's patch is in the way, or changed it
  kDark,      // the switch holds it, but `step` shows no light or link
};
std::string_view name_of(PairOutcome outcome);  // "VERIFIED"

// How far a circuit was checked: the first one that failed, or the last one that could be made.
enum class CheckStep { kPatch, kShutter, kPower, kCarrier };
std::string_view name_of(CheckStep step);

struct CircuitReport {
  Circuit circuit;
  bool wanted = true;    // false: to be removed
  bool changed = false;  // false: was there (or not there) before
  PairOutcome outcome = PairOutcome::kUnknown;
  CheckStep step = CheckStep::kPatch;
  std::string message;  // empty when kVerified
};

struct ApplyReport {
  TransactionId id = 0;
  std::vector<CircuitReport> circuits;  // wanted ones and removed ones, ascending
  Duration total{0};                    // from apply() to this report
  Duration switching{0};                // between sending and completion of patch commands
  bool all_verified() const;
};

enum class AlarmKind {
  kSession,       // no session with the switch
  kLogin,         // the switch does not let us in
  kForeignPatch,  // an owned port is joined to a port that is not ours, or as no circuit is
  kOtherWriter,   // somebody else changed our circuits
  kHalfCircuit,   // one direction of a circuit is missing
  kDark,          // a circuit without light or link
  kShutter,       // a closed shutter on a port in use
  kQuarantine,    // a NIC that failed too often is not used
  kSwitch,        // what the switch itself reports
  kEventsLost,
  kJournal,  // the journal cannot be written
};
std::string_view name_of(AlarmKind kind);  // "foreign-patch"

struct Alarm {
  AlarmKind kind = AlarmKind::kSession;
  std::string subject;  // port, NIC or circuit, as text; one alarm per kind and subject
  std::string message;
  Instant since;
};

struct CircuitState {
  Circuit circuit;
  bool intended = false;               // the last intent wants it
  bool configured = false;             // the switch holds it
  bool operational = false;            // light and link as far as they are observed
  CheckStep step = CheckStep::kPatch;  // as in CircuitReport
  auto operator<=>(const CircuitState&) const = default;
};

struct PortState {
  PortId port;
  std::optional<double> dbm;  // none: not measured
  bool shutter_open = true;
};

// The region as it was read last.
struct Topology {
  uint64_t version = 0;  // grows with every change of anything but power readings
  bool read = false;     // since the controller started; until then nothing below is known
  bool connected = false;
  std::string switch_name;  // SID, may be empty
  std::string switch_model;
  std::optional<TransactionId> intent;
  bool settled = true;
  std::vector<CircuitState> circuits;  // intended or configured, ascending
  std::vector<Patch> foreign;          // on owned ports, but no circuit
  std::vector<PortState> ports;        // owned ones, ascending
  std::vector<Alarm> alarms;           // in order of (kind, subject)
  std::vector<NicId> quarantined;
};

}  // namespace mixnet::ocs
