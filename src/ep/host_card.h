#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"
#include "ep/shared_ring.h"
#include "ep/shared_window.h"

namespace mixnet::ep {

// The control area of a rank: this head, then one ring for every rank of the host that sends to it
// (itself too), in order of rank. Peers write to all of it, so nothing in it is believed.
struct HostControl {
  alignas(64) std::atomic<uint32_t> doorbell{0};  // see Bell
  alignas(64) std::atomic<uint64_t> beats{0};     // see Pulse
  alignas(64) std::atomic<uint32_t> left{0};      // 1: this rank closed its link
  std::atomic<uint32_t> departures{0};            // counted by those that close theirs
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr uint64_t host_control_bytes(int host_ranks, uint64_t ring_bytes) {
  return sizeof(HostControl) + static_cast<uint64_t>(host_ranks) * ring_footprint(ring_bytes);
}
inline HostControl& host_control(const SharedWindow& memory) {
  // Zero bytes are a valid head: lock-free atomics of a shared mapping have no other state.
  return *reinterpret_cast<HostControl*>(memory.control());
}
// The ring of the sender that is the `sender`-th rank of the host.
inline std::byte* host_ring(const SharedWindow& memory, int sender, uint64_t ring_bytes) {
  return memory.control() + host_control_bytes(sender, ring_bytes);
}

// What a rank says of itself to the others of its host, through the store.
struct HostCard {
  SharedName memory;
  int pipe = -1;  // see Doorbell
  uint64_t ring_bytes = 0;
};

std::string host_card_text(const HostCard& card);
// Errors name `owner`, such as "rank 3".
Result<HostCard> parse_host_card(std::string_view text, const std::string& owner);

}  // namespace mixnet::ep
