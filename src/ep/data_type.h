#pragma once

#include <bit>
#include <cstdint>

namespace mixnet::ep {

enum class DataType : uint8_t { kBf16, kFp32 };

constexpr int64_t bytes_of(DataType type) { return type == DataType::kBf16 ? 2 : 4; }

// Upper half of an IEEE single.
using Bf16 = uint16_t;

constexpr float to_fp32(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// To the nearest, ties to even; NaN stays NaN.
constexpr Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<Bf16>(bits >> 16 | 0x40u);
  }
  return static_cast<Bf16>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace mixnet::ep
