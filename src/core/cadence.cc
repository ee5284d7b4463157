#include "core/cadence.h"

#include "core/check.h"

namespace mixnet {

const char* cadence_name(Cadence cadence) {
  switch (cadence) {
    case Cadence::kNever:
      return "never";
    case Cadence::kOnce:
      return "once";
    case Cadence::kEvery:
      return "every";
    case Cadence::kIteration:
      return "iteration";
    case Cadence::kStage:
      return "stage";
    case Cadence::kLayer:
      return "layer";
    case Cadence::kAuto:
      return "auto";
  }
  CHECK(false, "unknown cadence");
}

const char* change_scope_name(ChangeScope scope) {
  switch (scope) {
    case ChangeScope::kWhole:
      return "whole";
    case ChangeScope::kPartial:
      return "partial";
  }
  CHECK(false, "unknown scope of change");
}

const char* darkness_name(Darkness darkness) {
  switch (darkness) {
    case Darkness::kBlock:
      return "block";
    case Darkness::kDetour:
      return "detour";
  }
  CHECK(false, "unknown handling of darkness");
}

}  // namespace mixnet
