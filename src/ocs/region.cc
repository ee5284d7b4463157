#include "ocs/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace mixnet::ocs {
namespace {

Status check_fibres(SwitchSize size, const Nic& nic) {
  if (size.egress == 0) {
    return Status();
  }
  if (nic.tx.value > size.ingress) {
    return Error{fmt::format("{}: its light must enter at an ingress port, 1 to {}, not at {}",
                             nic.name, size.ingress, nic.tx.value),
                 ""};
  }
  if (nic.rx.value <= size.ingress) {
    return Error{fmt::format("{}: its light must leave at an egress port, {} to {}, not at {}",
                             nic.name, size.ingress + 1, size.ports(), nic.rx.value),
                 ""};
  }
  return Status();
}

Status check_names(const std::vector<std::string>& servers, const std::vector<Nic>& nics) {
  std::set<std::string_view> seen;
  for (const std::string& server : servers) {
    if (server.empty() || !seen.insert(server).second) {
      return Error{fmt::format("the server name \"{}\" is empty or used twice", server), ""};
    }
  }
  seen.clear();
  for (const Nic& nic : nics) {
    if (nic.name.empty() || !seen.insert(nic.name).second) {
      return Error{fmt::format("the NIC name \"{}\" is empty or used twice", nic.name), ""};
    }
    CHECK(nic.server >= 0 && nic.server < static_cast<int>(servers.size()), "server of a NIC");
  }
  return Status();
}

}  // namespace

bool contains(const std::vector<Circuit>& sorted, Circuit circuit) {
  return std::binary_search(sorted.begin(), sorted.end(), circuit);
}

Circuit circuit_between(NicId one, NicId other) {
  return one < other ? Circuit{one, other} : Circuit{other, one};
}

Result<Region> Region::make(SwitchSize size, std::vector<std::string> servers,
                            std::vector<Nic> nics) {
  if (Status status = check_names(servers, nics); !status.ok()) {
    return status.error();
  }
  std::vector<PortId> ports;
  for (const Nic& nic : nics) {
    if (Status status = check_fibres(size, nic); !status.ok()) {
      return status.error();
    }
    ports.push_back(nic.tx);
    ports.push_back(nic.rx);
  }
  Result<OwnedPorts> owned = OwnedPorts::make(size, std::move(ports));
  if (!owned.ok()) {
    return owned.error();
  }
  return Region(std::move(owned).value(), std::move(servers), std::move(nics));
}

Region::Region(OwnedPorts owned, std::vector<std::string> servers, std::vector<Nic> nics)
    : owned_(std::move(owned)),
      servers_(std::move(servers)),
      nics_(std::move(nics)),
      nic_at_(static_cast<std::size_t>(owned_.switch_size().ports()) + 1) {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    nic_at_[nics_[i].tx.index()] = NicId(static_cast<int32_t>(i));
    nic_at_[nics_[i].rx.index()] = NicId(static_cast<int32_t>(i));
  }
}

std::string Region::name_of(Circuit circuit) const {
  return fmt::format("{} - {}", nic(circuit.a).name, nic(circuit.b).name);
}

Result<NicId> Region::find_nic(std::string_view name) const {
  const auto found =
      std::find_if(nics_.begin(), nics_.end(), [&](const Nic& nic) { return nic.name == name; });
  if (found != nics_.end()) {
    return NicId(static_cast<int32_t>(found - nics_.begin()));
  }
  const std::string_view server = name.substr(0, name.find('/'));
  std::string choices;
  for (const Nic& nic : nics_) {
    if (servers_[static_cast<std::size_t>(nic.server)] == server) {
      choices += (choices.empty() ? "" : ", ") + nic.name;
    }
  }
  if (choices.empty()) {
    for (const std::string& known : servers_) {
      choices += (choices.empty() ? "" : ", ") + known;
    }
    choices = "the servers are " + choices;
  } else {
    choices = "the server has " + choices;
  }
  return Error{fmt::format("there is no NIC \"{}\" in this region: {}", name, choices), ""};
}

Result<Circuit> Region::find_circuit(std::string_view a, std::string_view b) const {
  const Result<NicId> one = find_nic(a);
  if (!one.ok()) {
    return one.error();
  }
  const Result<NicId> other = find_nic(b);
  if (!other.ok()) {
    return other.error();
  }
  const Circuit circuit = circuit_between(*one, *other);
  if (Status status = check_circuits(*this, {circuit}); !status.ok()) {
    return status.error();
  }
  return circuit;
}

NicId Region::nic_at(PortId port) const {
  return port.valid() && port.index() < nic_at_.size() ? nic_at_[port.index()] : NicId();
}

std::vector<Patch> Region::patches_of(Circuit circuit) const {
  const Nic& a = nic(circuit.a);
  const Nic& b = nic(circuit.b);
  return {patch_between(a.tx, b.rx), patch_between(b.tx, a.rx)};
}

Status check_circuits(const Region& region, const std::vector<Circuit>& circuits) {
  std::set<NicId> used;
  for (const Circuit& circuit : circuits) {
    if (region.nic(circuit.a).server == region.nic(circuit.b).server) {
      return Error{fmt::format("{}: both NICs are in one server", region.name_of(circuit)), ""};
    }
    for (const NicId nic : {circuit.a, circuit.b}) {
      if (!used.insert(nic).second) {
        return Error{fmt::format("{} is named in two circuits: it has one", region.nic(nic).name),
                     ""};
      }
    }
  }
  return Status();
}

}  // namespace mixnet::ocs
