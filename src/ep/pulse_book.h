#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/index.h"
#include "core/instant.h"

namespace mixnet::ep {

// When this rank gives its next sign of life, and when it last had one of each peer. No clock and
// no I/O: the caller says what it saw, and when.
//
// A rank that was stopped itself, or got no processor, has heard of nobody meanwhile. That time is
// not held against its peers: of the time between two looks, what exceeds kLateLook intervals
// counts as if it had not passed.
class PulseBook {
 public:
  static constexpr int kLateLook = 2;

  // At `start` everybody has just been heard of.
  PulseBook(int ranks, Duration interval, Instant start);

  Instant next_beat() const { return next_beat_; }
  // True: a beat is due now. Those that were missed are not made up for.
  bool beat(Instant now);

  // What `peer` counts its beats with; a sign of life when it is another number than before.
  void saw(int peer, uint64_t counter, Instant now);
  // After everything that could be seen was: the end of one look.
  void looked(Instant now);
  // Its process ended. False: that was known.
  bool ended(int peer);

  bool gone(int peer) const { return peers_[at(peer)].gone; }
  Instant heard(int peer) const { return peers_[at(peer)].heard; }
  Instant last_look() const { return looked_; }
  // As it is to be read at `now`, which may be long after the last look.
  static Instant heard_as_of(Instant now, Instant heard, Instant last_look, Duration interval);
  // Peers not heard of for `limit` or longer, those that are gone left out.
  std::vector<int> silent(Instant now, Duration limit) const;

 private:
  struct Peer {
    uint64_t counter = 0;
    Instant heard;
    bool gone = false;
  };

  std::vector<Peer> peers_;
  Duration interval_;
  Instant next_beat_;
  Instant looked_;
};

// A sign of life between hosts, as one datagram in the byte order of the host:
//
//   | magic (4) | rank (4) | communicator (8) | counter (8) |
struct Beat {
  uint32_t rank = 0;
  uint64_t communicator = 0;  // tells the jobs of a machine apart
  uint64_t counter = 0;
};
inline constexpr std::size_t kBeatBytes = 24;

std::array<std::byte, kBeatBytes> encode_beat(const Beat& beat);
// Empty: it comes from a stranger.
std::optional<Beat> decode_beat(std::span<const std::byte> datagram);

}  // namespace mixnet::ep
