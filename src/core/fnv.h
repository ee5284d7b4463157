#pragma once

#include <cstdint>
#include <string_view>

namespace mixnet {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325ULL;

// FNV-1a with 64 bits (Fowler, Noll, Vo), equal on every machine: for names and identifiers, not
// against an opponent. Of several pieces, the hash of one is the start of the next.
constexpr uint64_t fnv1a(std::string_view text, uint64_t start = kFnvStart) {
  uint64_t hash = start;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace mixnet
