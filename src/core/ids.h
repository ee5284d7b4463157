#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace mixnet {

// A dense index that cannot be mixed up with one of another kind.
template <typename Tag>
struct Id {
  int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(int32_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using ServerId = Id<struct ServerTag>;  // a host: what shares one NVSwitch
using GpuId = Id<struct GpuTag>;        // global, server-major
using LinkId = Id<struct LinkTag>;      // one direction of one network resource

}  // namespace mixnet
