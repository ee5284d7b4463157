#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ep/call.h"
#include "ep/exchange.h"

namespace mixnet::ep {

// What one rank does with a run of bytes that goes from rank to rank in chunks of kChunkBytes: with
// each chunk, once it is there, it works, then sends it on to another host and tells ranks of its
// own host, who pull it from its window.
struct Leg {
  static constexpr int kNobody = -1;

  uint64_t bytes = 0;
  // Whose signals, one for every chunk, say that a chunk is there. kNobody: all are, at the start.
  int from = kNobody;
  uint32_t arrives = 0;  // subject of these signals
  // Given the first byte of a chunk and its length; may be empty.
  std::function<void(uint64_t, uint64_t)> work;
  int to = kNobody;  // on another host; kNobody: it goes no further
  int rail = 0;
  uint64_t source = 0;         // where the leg's bytes are in the own window after the work
  uint64_t target = 0;         // where they go in the window of `to`
  std::vector<int> listeners;  // on this host, without this rank
  uint32_t leaves = 0;         // subject of the signals to `to` and to the listeners
};

// Moves the chunks of legs during one attempt, in turns, so that work, sending and waiting overlap.
// The signals from one rank have a subject for every leg.
class ChunkMover {
 public:
  ChunkMover(Attempt& attempt, Traffic& traffic, const std::vector<Leg>& legs);

  // Until all chunks have been worked on and have left.
  Attempt::Progress run();

 private:
  struct Task {
    const Leg* leg;
    uint64_t moved;  // chunks
    uint64_t chunks;
  };

  bool advance();
  bool is_there(const Task& task) const;
  void move(const Leg& leg, uint64_t chunk);

  Attempt& attempt_;
  Traffic& traffic_;
  std::vector<Task> open_;  // with chunks left
};

// Rails that share `bytes` which leave a rank: all of them, unless parts became too small to be
// worth a write of their own.
int rails_for(uint64_t bytes, int rails);

}  // namespace mixnet::ep
