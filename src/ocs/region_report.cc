#include "ocs/region_report.h"

#include <algorithm>

namespace mixnet::ocs {

std::string_view name_of(PairOutcome outcome) {
  switch (outcome) {
    case PairOutcome::kVerified:
      return "VERIFIED";
    case PairOutcome::kRefused:
      return "REFUSED";
    case PairOutcome::kUnknown:
      return "UNKNOWN";
    case PairOutcome::kConflict:
      return "CONFLICT";
    case PairOutcome::kDark:
      return "DARK";
  }
  return "";
}

std::string_view name_of(CheckStep step) {
  switch (step) {
    case CheckStep::kPatch:
      return "patch";
    case CheckStep::kShutter:
      return "shutter";
    case CheckStep::kPower:
      return "power";
    case CheckStep::kCarrier:
      return "carrier";
  }
  return "";
}

std::string_view name_of(AlarmKind kind) {
  switch (kind) {
    case AlarmKind::kSession:
      return "session";
    case AlarmKind::kLogin:
      return "login";
    case AlarmKind::kForeignPatch:
      return "foreign-patch";
    case AlarmKind::kOtherWriter:
      return "other-writer";
    case AlarmKind::kHalfCircuit:
      return "half-circuit";
    case AlarmKind::kDark:
      return "dark";
    case AlarmKind::kShutter:
      return "shutter";
    case AlarmKind::kQuarantine:
      return "quarantine";
    case AlarmKind::kSwitch:
      return "switch";
    case AlarmKind::kEventsLost:
      return "events-lost";
    case AlarmKind::kJournal:
      return "journal";
  }
  return "";
}

bool ApplyReport::all_verified() const {
  return std::all_of(circuits.begin(), circuits.end(), [](const CircuitReport& report) {
    return report.outcome == PairOutcome::kVerified;
  });
}

}  // namespace mixnet::ocs
