#pragma once

#include <map>
#include <string>
#include <vector>

#include "ocs/region.h"
#include "ocs/switch_view.h"

// Problem: patches are on the switch, circuits are wanted. Which patches go, which come?
// Answer: only the difference, deletes before creates, and nothing that is not a direction of one
// of the region's circuits. A wanted circuit that needs a port with a foreign patch on it is
// blocked. O((p + w) log(p + w)). Nothing fails; what cannot be done is in `blocked`.
namespace mixnet::ocs {

// A circuit is switched as one unit; `patches` are the directions that are missing, or that are
// there and too many.
struct Change {
  Circuit circuit;
  std::vector<Patch> patches;
  auto operator<=>(const Change&) const = default;
};

struct BlockedCircuit {
  Circuit circuit;
  std::string why;
};

struct ChangePlan {
  std::vector<Change> remove;  // ascending by circuit
  std::vector<Change> add;     // ascending by circuit
  std::vector<BlockedCircuit> blocked;

  bool empty() const { return remove.empty() && add.empty(); }
};

// `wanted` passes check_circuits(); both lists ascend. What is there of the circuits in `keep`
// stays, and blocks what needs its ports.
ChangePlan plan_change(const Region& region, const std::vector<Patch>& patches,
                       const std::vector<Circuit>& wanted, const std::vector<Circuit>& keep);

// The circuits that are there, whole or half, but neither expected nor wanted: somebody else's.
std::vector<Circuit> unexpected_circuits(const SwitchView& view,
                                         const std::vector<Circuit>& expected,
                                         const std::vector<Circuit>& wanted);

// Of `wanted`, those with a NIC that is not to be used, and why.
std::map<Circuit, std::string> unusable_circuits(const std::vector<Circuit>& wanted,
                                                 const std::map<NicId, std::string>& unusable);

// What one command is to remove or create. CHECK: changes of a plan, at least one.
PatchSet patches_of(const Region& region, const std::vector<Change>& changes);

}  // namespace mixnet::ocs
