#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "ocs/switch_ports.h"

// What hangs on the switch. A NIC has two fibres: its light enters the switch at port `tx`, and it
// receives what leaves the switch at port `rx`. A circuit is duplex, one unit of two patches:
//
//   a.tx -> b.rx   and   b.tx -> a.rx
namespace mixnet::ocs {

using NicId = Id<struct NicTag>;  // index into Region::nics()

struct Nic {
  std::string name;       // unique: "s0/ens1f0", server and interface
  int server = 0;         // index into Region::servers()
  std::string interface;  // as the server's kernel names it
  PortId tx;
  PortId rx;
};

// Two NICs of different servers, a < b.
struct Circuit {
  NicId a;
  NicId b;
  auto operator<=>(const Circuit&) const = default;
};

Circuit circuit_between(NicId one, NicId other);
bool contains(const std::vector<Circuit>& sorted, Circuit circuit);

class Region {
 public:
  // `servers` by index. Errors: an empty or doubled name, a port that the switch does not have or
  // that two fibres share, a tx port that is no ingress or an rx port that is no egress (NxM).
  static Result<Region> make(SwitchSize size, std::vector<std::string> servers,
                             std::vector<Nic> nics);

  const std::vector<std::string>& servers() const { return servers_; }
  const std::vector<Nic>& nics() const { return nics_; }
  const Nic& nic(NicId id) const { return nics_[id.index()]; }
  const OwnedPorts& owned() const { return owned_; }  // all tx and rx ports
  SwitchSize switch_size() const { return owned_.switch_size(); }

  std::string name_of(Circuit circuit) const;  // "s0/ens1f0 - s3/ens1f1"
  // Errors name what there is instead.
  Result<NicId> find_nic(std::string_view name) const;
  Result<Circuit> find_circuit(std::string_view a, std::string_view b) const;
  // The NIC whose fibre ends at this port; not valid() if none.
  NicId nic_at(PortId port) const;

  // Both directions.
  std::vector<Patch> patches_of(Circuit circuit) const;

 private:
  Region(OwnedPorts owned, std::vector<std::string> servers, std::vector<Nic> nics);

  OwnedPorts owned_;
  std::vector<std::string> servers_;
  std::vector<Nic> nics_;
  std::vector<NicId> nic_at_;  // by port number
};

// Sorted; no NIC in two circuits. Errors name the NIC.
Status check_circuits(const Region& region, const std::vector<Circuit>& circuits);

}  // namespace mixnet::ocs
