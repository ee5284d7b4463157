#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"

// Ports, patches, and the sets of them that a command may touch. A PortSet or PatchSet exists only
// if it is not empty, every port is owned, and no port is named twice: "every port of the switch"
// cannot be written down, and neither can somebody else's port.
namespace mixnet::ocs {

using PortId = Id<struct SwitchPortTag>;  // as the switch counts: from 1

// NxM: ports 1 to N are ingress, N+1 to N+M egress. NxCC: N ports, any may be patched to any.
struct SwitchSize {
  int32_t ingress = 0;
  int32_t egress = 0;  // 0: NxCC

  int32_t ports() const { return ingress + egress; }
  bool has(PortId port) const { return port.value >= 1 && port.value <= ports(); }
  auto operator<=>(const SwitchSize&) const = default;
};

inline constexpr int32_t kMaxPorts = 4096;

// "48x48" or "114xCC", at most kMaxPorts together.
Result<SwitchSize> parse_switch_size(std::string_view text);
std::string text_of(SwitchSize size);

// One cross-connect, one direction of light.
struct Patch {
  PortId ingress;
  PortId egress;
  auto operator<=>(const Patch&) const = default;
};

// The lower number is the ingress, in whatever order the two are given.
Patch patch_between(PortId a, PortId b);

// May `patch` exist on such a switch? The error says why not.
Status check_patch(SwitchSize size, Patch patch);

// The ports of a switch that belong to this controller.
class OwnedPorts {
 public:
  // Errors: no port, a port that the switch does not have, a port named twice.
  static Result<OwnedPorts> make(SwitchSize size, std::vector<PortId> ports);

  bool contains(PortId port) const;
  SwitchSize switch_size() const { return size_; }
  const std::vector<PortId>& ports() const { return ports_; }  // ascending

 private:
  OwnedPorts(SwitchSize size, std::vector<PortId> ports);

  SwitchSize size_;
  std::vector<PortId> ports_;
};

// At least one owned port, ascending.
class PortSet {
 public:
  // Errors: no port, a port not owned, a port named twice.
  static Result<PortSet> make(const OwnedPorts& owned, std::vector<PortId> ports);
  const std::vector<PortId>& ports() const { return ports_; }

 private:
  explicit PortSet(std::vector<PortId> ports) : ports_(std::move(ports)) {}
  std::vector<PortId> ports_;
};

// At least one patch between owned ports, ascending by ingress.
class PatchSet {
 public:
  // Errors: no patch, two ends that cannot be joined, a port not owned, a port named twice.
  static Result<PatchSet> make(const OwnedPorts& owned, std::vector<Patch> patches);
  const std::vector<Patch>& patches() const { return patches_; }
  // Both ends of every patch.
  PortSet ports(const OwnedPorts& owned) const;

 private:
  explicit PatchSet(std::vector<Patch> patches) : patches_(std::move(patches)) {}
  std::vector<Patch> patches_;
};

}  // namespace mixnet::ocs
