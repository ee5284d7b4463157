#include "core/fabric_spec.h"

#include "core/check.h"

namespace mixnet {

const char* fabric_kind_name(FabricKind kind) {
  switch (kind) {
    case FabricKind::kIdeal:
      return "ideal";
    case FabricKind::kFatTree:
      return "fat-tree";
    case FabricKind::kFatTreeOversubscribed:
      return "fat-tree-oversubscribed";
    case FabricKind::kRailOptimized:
      return "rail-optimized";
    case FabricKind::kTopoOpt:
      return "topoopt";
    case FabricKind::kMixnet:
      return "mixnet";
  }
  CHECK(false, "unknown fabric kind");
}

const char* allocator_name(Allocator allocator) {
  switch (allocator) {
    case Allocator::kAlgorithm1:
      return "algorithm1";
    case Allocator::kReleased:
      return "released";
    case Allocator::kSplit:
      return "split";
    case Allocator::kRelay:
      return "relay";
  }
  CHECK(false, "unknown allocator");
}

const char* dispatch_mode_name(DispatchMode mode) {
  switch (mode) {
    case DispatchMode::kBlock:
      return "block";
    case DispatchMode::kPredict:
      return "predict";
    case DispatchMode::kReuse:
      return "reuse";
  }
  CHECK(false, "unknown dispatch mode");
}

const char* expert_placement_name(ExpertPlacement placement) {
  switch (placement) {
    case ExpertPlacement::kFixed:
      return "fixed";
    case ExpertPlacement::kEplb:
      return "eplb";
    case ExpertPlacement::kNicAware:
      return "nic-aware";
    case ExpertPlacement::kJoint:
      return "joint";
  }
  CHECK(false, "unknown placement");
}

}  // namespace mixnet
