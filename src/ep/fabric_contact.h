#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"

namespace mixnet::ep {

// Where one NIC of a rank listens, and how its window is written to through that NIC.
struct RailContact {
  std::vector<std::byte> address;  // in the format of RankContact
  uint64_t base = 0;               // what offset 0 of the window is called on the wire
  uint64_t key = 0;

  bool operator==(const RailContact&) const = default;
};

// What a peer needs to connect to a rank.
struct RankContact {
  int rank = 0;
  uint64_t token = 0;  // tells this run of the rank from an earlier one at the same addresses
  uint64_t window_bytes = 0;
  uint32_t address_format = 0;
  std::vector<RailContact> rails;

  bool operator==(const RankContact&) const = default;
};

std::vector<std::byte> encode(const RankContact& contact);
// An error when the bytes were cut, or are of another version.
Result<RankContact> decode_contact(std::span<const std::byte> bytes);

// Travels with a request for a connection; small, since InfiniBand leaves 56 bytes for it.
struct RailRequest {
  int rank = 0;        // who asks
  uint64_t token = 0;  // of the one who is asked

  bool operator==(const RailRequest&) const = default;
};

std::vector<std::byte> encode(const RailRequest& request);
Result<RailRequest> decode_request(std::span<const std::byte> bytes);

}  // namespace mixnet::ep
