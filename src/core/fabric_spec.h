#pragma once

#include <string>

#include "core/cadence.h"
#include "core/units.h"

namespace mixnet {

enum class FabricKind {
  kIdeal,                  // every server's NICs pooled, non-blocking, no protocol cost: the bound
  kFatTree,                // non-blocking
  kFatTreeOversubscribed,  // leaf uplinks thinner than leaf downlinks
  kRailOptimized,          // NIC r of every server on rail r; cross-rail traffic turns on NVLink
  kTopoOpt,                // one-shot direct-connect topology on a patch panel
  kMixnet,                 // regional OCS beside an electrical fat-tree
};

// How demand becomes circuits and shares (plan/wire).
enum class Allocator { kAlgorithm1, kReleased, kSplit, kRelay };

// What a forward dispatch does, whose exact demand is known only after the gate (cadence
// kLayer). In every mode the combine may be re-wired behind the expert compute.
enum class DispatchMode {
  kBlock,    // re-wire for the exact demand after the gate; the dispatch waits: window 0
  kPredict,  // re-wire for the predicted demand during attention: window = attention
  kReuse,    // use the circuits as they are; re-wire for the combine: window = expert compute
};

struct MixnetSettings {
  int alpha = 6;                                   // OCS NICs per server (optical degree)
  Delay switch_time = {SimTime::from_ms(25), {}};  // T_OCS of one command
  Delay relink_time;      // T_NIC, drawn for each NIC, until it is up again
  SimTime control_delay;  // from having seen the demand to the command
  int ocs_ports = 576;    // of one regional switch; one per NIC
  Allocator allocator = Allocator::kSplit;
  Cadence cadence = Cadence::kLayer;
  int every = 1;  // iterations, kEvery only
  ChangeScope scope = ChangeScope::kWhole;
  Darkness darkness = Darkness::kBlock;
  DispatchMode dispatch = DispatchMode::kBlock;
  Predictor predictor = Predictor::kUnchanged;  // what kPredict asks
};

// Where the experts of a layer stand, and for whom it is decided.
enum class ExpertPlacement {
  kFixed,     // in order
  kEplb,      // balanced compute
  kNicAware,  // balanced compute, then what NICs carry
  kJoint,     // together with the circuits (kMixnet only)
};

struct FabricSpec {
  FabricKind kind = FabricKind::kFatTree;
  std::string name;             // unique within a scenario; the kind's name unless labelled
  double oversubscription = 1;  // leaf down : up capacity, fat-tree-oversubscribed only
  int switch_radix = 64;        // ports of one packet switch; half of a leaf's face the NICs
  ExpertPlacement placement = ExpertPlacement::kFixed;
  int placement_every = 0;  // iterations between plans; 0: planned once
  MixnetSettings mixnet;    // kMixnet only
};

// The fixed names of the command line: "fat-tree", "fat-tree-oversubscribed", "rail-optimized",
// "topoopt", "mixnet", "ideal".
const char* fabric_kind_name(FabricKind kind);
const char* allocator_name(Allocator allocator);
const char* dispatch_mode_name(DispatchMode mode);
const char* expert_placement_name(ExpertPlacement placement);

}  // namespace mixnet
