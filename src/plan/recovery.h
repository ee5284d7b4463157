#pragma once

#include <cstdint>
#include <vector>

#include "core/recovery.h"
#include "core/result.h"

// Which experts come back from where when hosts or GPUs are lost, in which order, and how long
// execution waits.
//
// An expert with a copy on a working GPU survives. Every other one is loaded into a working GPU:
// from the memory of that GPU's host, else from the memory of another working host over the
// network, else from disk. Layers are loaded in the order in which they execute, and a layer
// executes as soon as its own experts are there, while later ones are still being loaded
// ("Balancing and Beyond", SIGCOMM 2026, section 3.4: layer by layer, from a cache in
// host memory).
//
// Time model: every GPU's link to host memory, every host's network interface in each direction and
// every host's disk carries its transfers one after another at its rate. A transfer is cut into
// chunks that flow through its resources at once, so it ends when the last of them has carried it.
// Tokens of lost experts are not modelled: they wait with the layer.
namespace mixnet::plan {

struct Losses {
  std::vector<uint8_t> hosts;  // [hosts] 1: with its GPUs, its memory and its disk
  std::vector<uint8_t> gpus;   // [gpus] 1: alone; the memory of its host stays
};

enum class ReloadSource { kOwnMemory, kOtherMemory, kDisk };

struct Reload {
  int layer = 0;
  int expert = 0;
  int gpu = 0;
  int slot = 0;  // in its GPU; slots_per_gpu and more are spare ones
  ReloadSource source = ReloadSource::kOwnMemory;
  int from_host = 0;  // whose memory or disk
  int evicted = -1;   // expert with another copy, whose slot it takes; -1: the slot was empty
  bool operator==(const Reload&) const = default;
};

// An expert that lost copies and survives.
struct SurvivingExpert {
  int layer = 0;
  int expert = 0;
  int copies_left = 0;
  bool operator==(const SurvivingExpert&) const = default;
};

struct RecoveryPlan {
  std::vector<SurvivingExpert> survivors;  // by layer as they execute, then by expert
  std::vector<Reload> reloads;             // in the order in which they start
  std::vector<int> layer_order;            // as they execute, first needed first
  std::vector<SimTime> layer_ready;        // [layers], index = layer: after the loss
  SimTime stall;                           // by which one pass over all layers is late
  SimTime stall_bound;  // no choice of GPUs and hosts gives less, sources as they are
  SimTime unpipelined;  // the stall if execution waited for the last load
  Bytes from_own_memory;
  Bytes from_other_memory;
  Bytes from_disk;
};

// Errors: nothing is lost or everything is; an expert without a copy anywhere is named with its
// layer, and how many more there are; experts that do not fit into the working GPUs, with the
// spare slots that would hold them. A map, rates or sizes that make no sense are a CHECK.
//
// GPUs: of those with room, the one where the transfer ends first; ties go to the nearer
// source, then to the fewest loads, then to the lowest index. A slot of an expert with another copy
// is taken only when no GPU has an empty one. O(layers * lost experts * GPUs * hosts).
Result<RecoveryPlan> plan_recovery(const RecoveryProblem& problem, const Losses& losses);

}  // namespace mixnet::plan
