#pragma once

#include <vector>

#include "ocs/region.h"

// What the patches on a switch mean for a region.
namespace mixnet::ocs {

// One direction of a circuit whose other direction is missing.
struct HalfCircuit {
  Circuit circuit;
  Patch present;
  auto operator<=>(const HalfCircuit&) const = default;
};

struct SwitchView {
  std::vector<Circuit> circuits;    // both directions; ascending
  std::vector<HalfCircuit> halves;  // ascending
  std::vector<Patch> foreign;       // on an owned port, and no direction of any circuit; ascending

  bool has(Circuit circuit) const;
  auto operator<=>(const SwitchView&) const = default;
};

// Patches without an owned port are somebody else's and left out. O(p log p).
SwitchView view_of(const Region& region, const std::vector<Patch>& patches);

// The circuit of which the patch is one direction; neither end valid() if there is none.
Circuit circuit_of(const Region& region, Patch patch);

}  // namespace mixnet::ocs
