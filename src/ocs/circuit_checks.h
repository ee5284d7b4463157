#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ocs/link_probe.h"
#include "ocs/region.h"
#include "ocs/region_report.h"

namespace mixnet::ocs {

// What was read back from the switch; a port that is missing was not read or cannot be.
struct Readings {
  std::vector<Patch> patches;  // ascending, of the whole switch
  std::map<PortId, bool> shutter_open;
  std::map<PortId, std::optional<double>> dbm;  // none: the port has no reading
};

struct CircuitCheck {
  bool passed = false;
  CheckStep step = CheckStep::kPatch;  // the one that failed, or the last one that could be made
  std::string message;                 // what failed; empty when passed
  PortId port;                         // where it failed; not valid() if at no port
  auto operator<=>(const CircuitCheck&) const = default;
};

// Does a circuit whose patches are there carry light? Its shutters, then the power at its ports,
// as far as they were read.
CircuitCheck check_light(const Region& region, Circuit circuit, const Readings& readings,
                         double least_dbm);

// The same and, if it passes, whether both NICs see it.
CircuitCheck check_link(const Region& region, Circuit circuit, const CircuitCheck& light,
                        LinkProbe& probe);

// All four ports.
std::vector<PortId> ports_of(const Region& region, Circuit circuit);

}  // namespace mixnet::ocs
