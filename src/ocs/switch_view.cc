#include "ocs/switch_view.h"

#include <algorithm>
#include <map>

namespace mixnet::ocs {

bool SwitchView::has(Circuit circuit) const {
  return std::binary_search(circuits.begin(), circuits.end(), circuit);
}

Circuit circuit_of(const Region& region, Patch patch) {
  const NicId one = region.nic_at(patch.ingress);
  const NicId other = region.nic_at(patch.egress);
  if (!one.valid() || !other.valid() || region.nic(one).server == region.nic(other).server) {
    return Circuit{};
  }
  // On an NxCC switch the lower port may be the receiving one.
  const bool sends = region.nic(one).tx == patch.ingress;
  const bool receives = region.nic(other).rx == patch.egress;
  return sends == receives ? circuit_between(one, other) : Circuit{};
}

SwitchView view_of(const Region& region, const std::vector<Patch>& patches) {
  SwitchView view;
  std::map<Circuit, std::vector<Patch>> directions;
  for (const Patch& patch : patches) {
    const Circuit circuit = circuit_of(region, patch);
    if (circuit.a.valid()) {
      directions[circuit].push_back(patch);
    } else if (region.owned().contains(patch.ingress) || region.owned().contains(patch.egress)) {
      view.foreign.push_back(patch);
    }
  }
  for (const auto& [circuit, present] : directions) {
    if (present.size() == 2) {
      view.circuits.push_back(circuit);
    } else {
      view.halves.push_back({circuit, present.front()});
    }
  }
  std::sort(view.foreign.begin(), view.foreign.end());
  return view;
}

}  // namespace mixnet::ocs
