#include "core/failure.h"

#include "core/check.h"

namespace mixnet {

const char* failure_kind_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNic:
      return "nic";
    case FailureKind::kLink:
      return "link";
    case FailureKind::kOcsPort:
      return "ocs-port";
    case FailureKind::kOcs:
      return "ocs";
    case FailureKind::kEpsNics:
      return "eps-nics";
    case FailureKind::kGpu:
      return "gpu";
    case FailureKind::kServer:
      return "server";
  }
  CHECK(false, "unknown kind of failure");
}

const char* failure_side_name(FailureSide side) {
  switch (side) {
    case FailureSide::kElectrical:
      return "electrical";
    case FailureSide::kOptical:
      return "optical";
  }
  CHECK(false, "unknown side of a failure");
}

}  // namespace mixnet
