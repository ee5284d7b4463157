#include "ocs/change_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace mixnet::ocs {
namespace {

using PatchByPort = std::map<PortId, Patch>;

void occupy(PatchByPort& ports, Patch patch) {
  ports.emplace(patch.ingress, patch);
  ports.emplace(patch.egress, patch);
}

// A patch that stays where the circuit must go.
std::optional<Patch> obstacle(const Region& region, const PatchByPort& staying, Circuit circuit) {
  for (const Patch& needed : region.patches_of(circuit)) {
    for (const PortId port : {needed.ingress, needed.egress}) {
      const auto found = staying.find(port);
      if (found != staying.end() && found->second != needed) {
        return found->second;
      }
    }
  }
  return std::nullopt;
}

// Of what is there and may be removed, everything that `wanted` does not name.
std::vector<Change> too_many(const Region& region, const SwitchView& view,
                             const std::vector<Circuit>& wanted, const std::vector<Circuit>& keep) {
  std::vector<Change> remove;
  for (const Circuit& circuit : view.circuits) {
    if (!contains(wanted, circuit) && !contains(keep, circuit)) {
      remove.push_back({circuit, region.patches_of(circuit)});
    }
  }
  for (const HalfCircuit& half : view.halves) {
    if (!contains(wanted, half.circuit) && !contains(keep, half.circuit)) {
      remove.push_back({half.circuit, {half.present}});
    }
  }
  std::sort(remove.begin(), remove.end());
  return remove;
}

}  // namespace

ChangePlan plan_change(const Region& region, const std::vector<Patch>& patches,
                       const std::vector<Circuit>& wanted, const std::vector<Circuit>& keep) {
  const SwitchView view = view_of(region, patches);
  PatchByPort staying;
  for (const Patch& patch : view.foreign) {
    occupy(staying, patch);
  }
  for (const Patch& patch : patches) {
    const Circuit circuit = circuit_of(region, patch);
    if (circuit.a.valid() && contains(keep, circuit) && !contains(wanted, circuit)) {
      occupy(staying, patch);
    }
  }
  ChangePlan plan;
  std::vector<Circuit> reachable;
  for (const Circuit& circuit : wanted) {
    const std::optional<Patch> patch = obstacle(region, staying, circuit);
    if (patch.has_value()) {
      plan.blocked.push_back({circuit, fmt::format("the patch {},{} is in the way and stays",
                                                   patch->ingress.value, patch->egress.value)});
    } else {
      reachable.push_back(circuit);
    }
  }
  plan.remove = too_many(region, view, reachable, keep);
  const std::set<Patch> present(patches.begin(), patches.end());
  for (const Circuit& circuit : reachable) {
    Change change{circuit, {}};
    for (const Patch& patch : region.patches_of(circuit)) {
      if (present.count(patch) == 0) {
        change.patches.push_back(patch);
      }
    }
    if (!change.patches.empty()) {
      plan.add.push_back(std::move(change));
    }
  }
  return plan;
}

std::vector<Circuit> unexpected_circuits(const SwitchView& view,
                                         const std::vector<Circuit>& expected,
                                         const std::vector<Circuit>& wanted) {
  std::vector<Circuit> there = view.circuits;
  for (const HalfCircuit& half : view.halves) {
    there.push_back(half.circuit);
  }
  std::erase_if(there, [&](Circuit circuit) {
    return contains(expected, circuit) || contains(wanted, circuit);
  });
  return there;
}

std::map<Circuit, std::string> unusable_circuits(const std::vector<Circuit>& wanted,
                                                 const std::map<NicId, std::string>& unusable) {
  std::map<Circuit, std::string> found;
  for (const Circuit& circuit : wanted) {
    for (const NicId nic : {circuit.a, circuit.b}) {
      if (const auto why = unusable.find(nic); why != unusable.end()) {
        found.emplace(circuit, why->second);
      }
    }
  }
  return found;
}

PatchSet patches_of(const Region& region, const std::vector<Change>& changes) {
  std::vector<Patch> patches;
  for (const Change& change : changes) {
    patches.insert(patches.end(), change.patches.begin(), change.patches.end());
  }
  return PatchSet::make(region.owned(), std::move(patches)).value();
}

}  // namespace mixnet::ocs
