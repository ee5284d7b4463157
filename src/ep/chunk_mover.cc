#include "ep/chunk_mover.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ep {
namespace {

// Below this, what a write costs outweighs its bytes.
constexpr uint64_t kWorthARail = 4096;

}  // namespace

ChunkMover::ChunkMover(Attempt& attempt, Traffic& traffic, const std::vector<Leg>& legs)
    : attempt_(attempt), traffic_(traffic) {
  for (const Leg& leg : legs) {
    if (leg.bytes > 0) {
      open_.push_back(Task{&leg, 0, (leg.bytes + kChunkBytes - 1) / kChunkBytes});
    }
  }
}

Attempt::Progress ChunkMover::run() {
  return attempt_.wait([this] { return advance() && attempt_.transport().drained(); },
                       [this](int rank) {
                         return std::any_of(open_.begin(), open_.end(), [&](const Task& task) {
                           return task.leg->from == rank && !is_there(task);
                         });
                       });
}

bool ChunkMover::advance() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Task& task : open_) {
      if (is_there(task)) {
        move(*task.leg, task.moved++);
        moved = true;
      }
    }
    std::erase_if(open_, [](const Task& task) { return task.moved == task.chunks; });
    if (moved) {
      attempt_.take_in();
    }
  }
  return open_.empty();
}

// The next chunk.
bool ChunkMover::is_there(const Task& task) const {
  return task.leg->from == Leg::kNobody ||
         static_cast<uint64_t>(attempt_.signals(task.leg->from, task.leg->arrives)) > task.moved;
}

void ChunkMover::move(const Leg& leg, uint64_t chunk) {
  const uint64_t first = chunk * kChunkBytes;
  const uint64_t bytes = std::min(kChunkBytes, leg.bytes - first);
  if (leg.work) {
    leg.work(first, bytes);
  }
  if (leg.to != Leg::kNobody) {
    Transport& transport = attempt_.transport();
    transport.write(RemoteWrite{leg.to, leg.rail, transport.window().base + leg.source + first,
                                bytes, leg.target + first});
    attempt_.signal(leg.to, leg.rail, leg.leaves);
    traffic_.nic_bytes[at(leg.rail)] += static_cast<int64_t>(bytes);
  }
  for (const int listener : leg.listeners) {
    attempt_.signal(listener, kInsideHost, leg.leaves);
  }
}

int rails_for(uint64_t bytes, int rails) {
  const uint64_t worth = std::max<uint64_t>(1, bytes / kWorthARail);
  return static_cast<int>(std::min(worth, static_cast<uint64_t>(std::max(1, rails))));
}

}  // namespace mixnet::ep
