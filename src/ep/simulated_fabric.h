#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/instant.h"
#include "ep/rank_map.h"
#include "ep/transport.h"

// Ranks of one process under a simulated clock: every rank has a thread, but only one of them runs
// at a time, and it runs until it waits. Equal seeds give equal runs, in no time.
//
// What travels through NICs is late by a random time and keeps only the order that Transport
// promises; the source of a write is read when it arrives. Inside a host signals and messages are
// late too, but mapped windows are written at once.
namespace mixnet::ep {

struct SimulationOptions {
  RankMap ranks = RankMap({1});
  int rails = 1;
  uint64_t window_bytes = 64 << 20;
  uint64_t largest_message = 1 << 20;
  uint64_t seed = 1;
  Duration delay = std::chrono::microseconds(50);  // uniform up to this
  Duration beat = std::chrono::milliseconds(5);    // between two heartbeats
};

// What happens to a rank at the given time after the start.
struct SimulatedFault {
  enum class Kind : uint8_t {
    kKill,    // its process ends
    kStop,    // stands still for `lasts`
    kCutOff,  // nothing reaches it from other hosts, nor them from it, and nobody is told
  };
  Kind kind = Kind::kKill;
  int rank = 0;
  Duration after{};
  Duration lasts = Duration::max();
};

// Runs `body(transport)` for every rank and returns when all have returned or been killed. A rank
// that stands still for ever ends with the last other one.
void run_simulated(const SimulationOptions& options, const std::vector<SimulatedFault>& faults,
                   const std::function<void(Transport&)>& body);

}  // namespace mixnet::ep
