#include "ocs/circuit_checks.h"

#include <fmt/format.h>

namespace mixnet::ocs {
namespace {

const char* direction_of(const Nic& nic, PortId port) {
  return port == nic.tx ? "from" : "towards";
}

}  // namespace

std::vector<PortId> ports_of(const Region& region, Circuit circuit) {
  const Nic& a = region.nic(circuit.a);
  const Nic& b = region.nic(circuit.b);
  return {a.tx, b.rx, b.tx, a.rx};
}

CircuitCheck check_light(const Region& region, Circuit circuit, const Readings& readings,
                         double least_dbm) {
  CircuitCheck check{true, CheckStep::kPatch, "", PortId()};
  const std::vector<PortId> ports = ports_of(region, circuit);
  for (const PortId port : ports) {
    const auto shutter = readings.shutter_open.find(port);
    if (shutter == readings.shutter_open.end()) {
      continue;
    }
    check.step = CheckStep::kShutter;
    if (!shutter->second) {
      const Nic& nic = region.nic(region.nic_at(port));
      return {false, CheckStep::kShutter,
              fmt::format("the shutter of port {} ({} {}) is closed; to open it: "
                          "RLS-PORT-SHUTTER::{}:<ctag>:;",
                          port.value, direction_of(nic, port), nic.name, port.value),
              port};
    }
  }
  for (const PortId port : ports) {
    const auto power = readings.dbm.find(port);
    if (power == readings.dbm.end() || !power->second.has_value()) {
      continue;
    }
    check.step = CheckStep::kPower;
    if (*power->second < least_dbm) {
      const Nic& nic = region.nic(region.nic_at(port));
      return {false, CheckStep::kPower,
              fmt::format("port {} ({} {}) has {:.1f} dBm, wanted at least {:.1f}: look at the "
                          "fibre and the transceiver",
                          port.value, direction_of(nic, port), nic.name, *power->second, least_dbm),
              port};
    }
  }
  return check;
}

CircuitCheck check_link(const Region& region, Circuit circuit, const CircuitCheck& light,
                        LinkProbe& probe) {
  if (!light.passed) {
    return light;
  }
  CircuitCheck check = light;
  for (const NicId nic : {circuit.a, circuit.b}) {
    const LinkProbe::Carrier carrier = probe.carrier(nic);
    if (carrier == LinkProbe::Carrier::kNotObserved) {
      continue;
    }
    check.step = CheckStep::kCarrier;
    if (carrier == LinkProbe::Carrier::kDown) {
      return {false, CheckStep::kCarrier, fmt::format("{} has no carrier", region.nic(nic).name),
              PortId()};
    }
  }
  return check;
}

}  // namespace mixnet::ocs
