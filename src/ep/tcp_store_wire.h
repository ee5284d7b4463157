#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/check.h"

// The headers of requests and answers of a TcpStore, see tcp_store.h.
namespace mixnet::ep {

inline constexpr uint32_t kStoreMagic = 0x3153584d;  // "MXS1"
inline constexpr uint32_t kStoreSet = 1;
inline constexpr uint32_t kStoreGet = 2;
inline constexpr uint32_t kStoreDone = 0;
inline constexpr uint32_t kStoreRefused = 1;

struct StoreHeader {
  uint32_t magic;
  uint32_t kind;    // of the request; the code of an answer
  uint32_t first;   // bytes of what follows,
  uint32_t second;  // and of what follows that
};
inline constexpr std::size_t kStoreHeaderBytes = sizeof(StoreHeader);
static_assert(kStoreHeaderBytes == 16);

inline std::string store_header(uint32_t kind, std::size_t first, std::size_t second) {
  const StoreHeader header{kStoreMagic, kind, static_cast<uint32_t>(first),
                           static_cast<uint32_t>(second)};
  std::string bytes(kStoreHeaderBytes, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// Of at least kStoreHeaderBytes.
inline StoreHeader read_store_header(std::string_view bytes) {
  CHECK(bytes.size() >= kStoreHeaderBytes, "the header is complete");
  StoreHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

}  // namespace mixnet::ep
