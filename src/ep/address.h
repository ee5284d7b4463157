#pragma once

#include <cstddef>
#include <cstdint>

namespace mixnet::ep {

// Where memory is. Collectives hand addresses on to a CopyEngine and to a Transport; they never
// look through one themselves.
enum class MemoryKind : uint8_t { kHost };

struct Address {
  std::byte* data = nullptr;
  MemoryKind kind = MemoryKind::kHost;

  explicit operator bool() const { return data != nullptr; }
  Address operator+(uint64_t bytes) const { return Address{data + bytes, kind}; }
};

struct ConstAddress {
  const std::byte* data = nullptr;
  MemoryKind kind = MemoryKind::kHost;

  ConstAddress() = default;
  ConstAddress(const std::byte* bytes, MemoryKind memory) : data(bytes), kind(memory) {}
  // NOLINTNEXTLINE(google-explicit-constructor): what can be written can be read
  ConstAddress(Address address) : data(address.data), kind(address.kind) {}

  explicit operator bool() const { return data != nullptr; }
  ConstAddress operator+(uint64_t bytes) const { return {data + bytes, kind}; }
};

// Host memory of any type, as an address.
inline Address host_address(void* data) { return Address{static_cast<std::byte*>(data)}; }
inline ConstAddress host_address(const void* data) {
  return {static_cast<const std::byte*>(data), MemoryKind::kHost};
}

}  // namespace mixnet::ep
