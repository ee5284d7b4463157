#include "ocs/switch_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

std::optional<int32_t> count_of(std::string_view text) {
  int32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && count >= 1 && count <= kMaxPorts ? std::optional(count) : std::nullopt;
}

Status check_exists(SwitchSize size, PortId port) {
  if (!size.has(port)) {
    return Error{fmt::format("port {} does not exist: a {} switch has ports 1 to {}", port.value,
                             text_of(size), size.ports()),
                 ""};
  }
  return Status();
}

// Sorts; fails on an empty list and on a port named twice.
Status sort_unique(std::vector<PortId>& ports) {
  if (ports.empty()) {
    return Error{"no ports: name at least one", ""};
  }
  std::ranges::sort(ports);
  const auto twice = std::ranges::adjacent_find(ports);
  if (twice != ports.end()) {
    return Error{fmt::format("port {} is named twice", twice->value), ""};
  }
  return Status();
}

}  // namespace

Result<SwitchSize> parse_switch_size(std::string_view text) {
  const auto parts = split(text, 'x');
  if (parts.size() == 2) {
    const auto ingress = count_of(parts[0]);
    const auto egress = equal_ignoring_case(parts[1], "CC") ? 0 : count_of(parts[1]);
    if (ingress && egress && *ingress + *egress <= kMaxPorts) {
      return SwitchSize{*ingress, *egress};
    }
  }
  return Error{fmt::format("\"{}\" is no switch size: write it as 48x48, or 114xCC when any port "
                           "may be patched to any, up to {} ports",
                           text, kMaxPorts),
               ""};
}

std::string text_of(SwitchSize size) {
  return size.egress == 0 ? fmt::format("{}xCC", size.ingress)
                          : fmt::format("{}x{}", size.ingress, size.egress);
}

Patch patch_between(PortId a, PortId b) { return Patch{std::min(a, b), std::max(a, b)}; }

Status check_patch(SwitchSize size, Patch patch) {
  for (const PortId port : {patch.ingress, patch.egress}) {
    if (Status status = check_exists(size, port); !status) {
      return status;
    }
  }
  if (patch.ingress == patch.egress) {
    return Error{fmt::format("port {} cannot be patched to itself", patch.ingress.value), ""};
  }
  const bool joins = patch.ingress.value <= size.ingress && patch.egress.value > size.ingress;
  if (size.egress > 0 && !joins) {
    return Error{fmt::format("ports {} and {} cannot be joined: a patch of a {} switch is between "
                             "an ingress port (1 to {}) and an egress port ({} to {})",
                             patch.ingress.value, patch.egress.value, text_of(size), size.ingress,
                             size.ingress + 1, size.ports()),
                 ""};
  }
  return Status();
}

OwnedPorts::OwnedPorts(SwitchSize size, std::vector<PortId> ports)
    : size_(size), ports_(std::move(ports)) {}

Result<OwnedPorts> OwnedPorts::make(SwitchSize size, std::vector<PortId> ports) {
  if (Status status = sort_unique(ports); !status) {
    return status.error();
  }
  for (const PortId port : ports) {
    if (Status status = check_exists(size, port); !status) {
      return status.error();
    }
  }
  return OwnedPorts(size, std::move(ports));
}

bool OwnedPorts::contains(PortId port) const { return std::ranges::binary_search(ports_, port); }

Result<PortSet> PortSet::make(const OwnedPorts& owned, std::vector<PortId> ports) {
  if (Status status = sort_unique(ports); !status) {
    return status.error();
  }
  for (const PortId port : ports) {
    if (Status status = check_exists(owned.switch_size(), port); !status) {
      return status.error();
    }
    if (!owned.contains(port)) {
      return Error{
          fmt::format("port {} is not ours: add it to the owned ports if it should be", port.value),
          ""};
    }
  }
  return PortSet(std::move(ports));
}

Result<PatchSet> PatchSet::make(const OwnedPorts& owned, std::vector<Patch> patches) {
  std::vector<PortId> ends;
  for (Patch& patch : patches) {
    patch = patch_between(patch.ingress, patch.egress);
    if (Status status = check_patch(owned.switch_size(), patch); !status) {
      return status.error();
    }
    ends.push_back(patch.ingress);
    ends.push_back(patch.egress);
  }
  if (const Result<PortSet> ports = PortSet::make(owned, std::move(ends)); !ports) {
    return ports.error();
  }
  std::ranges::sort(patches);
  return PatchSet(std::move(patches));
}

PortSet PatchSet::ports(const OwnedPorts& owned) const {
  std::vector<PortId> ends;
  for (const Patch& patch : patches_) {
    ends.push_back(patch.ingress);
    ends.push_back(patch.egress);
  }
  return PortSet::make(owned, std::move(ends)).value();
}

}  // namespace mixnet::ocs
