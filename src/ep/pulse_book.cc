#include "ep/pulse_book.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

constexpr uint32_t kBeatMagic = 0x4250584d;  // "MXPB"

struct BeatDatagram {
  uint32_t magic;
  uint32_t rank;
  uint64_t communicator;
  uint64_t counter;
};
static_assert(sizeof(BeatDatagram) == kBeatBytes);

}  // namespace

PulseBook::PulseBook(int ranks, Duration interval, Instant start)
    : peers_(at(ranks), Peer{0, start, false}),
      interval_(interval),
      next_beat_(start),
      looked_(start) {
  CHECK(interval > Duration::zero(), "beats are some time apart");
}

bool PulseBook::beat(Instant now) {
  if (now < next_beat_) {
    return false;
  }
  next_beat_ += interval_;
  if (next_beat_ <= now) {
    next_beat_ = now + interval_;
  }
  return true;
}

void PulseBook::saw(int peer, uint64_t counter, Instant now) {
  Peer& one = peers_[at(peer)];
  if (one.counter != counter) {
    one.counter = counter;
    one.heard = now;
  }
}

void PulseBook::looked(Instant now) {
  for (Peer& peer : peers_) {
    peer.heard = std::min(now, heard_as_of(now, peer.heard, looked_, interval_));
  }
  looked_ = std::max(looked_, now);
}

bool PulseBook::ended(int peer) { return !std::exchange(peers_[at(peer)].gone, true); }

Instant PulseBook::heard_as_of(Instant now, Instant heard, Instant last_look, Duration interval) {
  const Duration unseen = now - last_look - kLateLook * interval;
  return std::min(now, heard + std::max(unseen, Duration::zero()));
}

std::vector<int> PulseBook::silent(Instant now, Duration limit) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    const Instant last = heard_as_of(now, heard(rank), looked_, interval_);
    if (!gone(rank) && now - last >= limit) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::array<std::byte, kBeatBytes> encode_beat(const Beat& beat) {
  const BeatDatagram datagram{kBeatMagic, beat.rank, beat.communicator, beat.counter};
  std::array<std::byte, kBeatBytes> bytes{};
  std::memcpy(bytes.data(), &datagram, sizeof datagram);
  return bytes;
}

std::optional<Beat> decode_beat(std::span<const std::byte> datagram) {
  BeatDatagram read{};
  if (datagram.size() != sizeof read) {
    return std::nullopt;
  }
  std::memcpy(&read, datagram.data(), sizeof read);
  if (read.magic != kBeatMagic) {
    return std::nullopt;
  }
  return Beat{read.rank, read.communicator, read.counter};
}

}  // namespace mixnet::ep
