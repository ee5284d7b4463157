#pragma once

#include <vector>

#include "core/units.h"

// A deployment whose hosts can be lost: what the file reader fills and the planner asks.
namespace mixnet {

// Which expert every slot of every MoE layer holds.
struct ExpertMap {
  int experts = 0;  // per layer
  int gpus = 0;
  int gpus_per_host = 8;  // the last host may have fewer
  int slots_per_gpu = 0;
  std::vector<std::vector<int>> layers;  // [layers][gpus * slots_per_gpu], GPU after GPU; -1: empty

  int hosts() const { return (gpus + gpus_per_host - 1) / gpus_per_host; }
};

// Which hosts keep weights in their memory, ready to be copied to a GPU.
enum class ExpertCache {
  kNone,
  kOwn,   // every host the experts of its GPUs
  kRing,  // the host of an expert's first slot and the `cache_copies` - 1 hosts after it
  kAll,   // every host every expert
};

struct RecoveryCosts {
  Bytes expert;         // weights of one expert of one layer
  BitRate host_to_gpu;  // host memory to one GPU
  BitRate network;      // memory of one host to another host, per host and direction
  BitRate disk;         // per host
  bool on_disk = true;  // every host can read every expert from disk
  SimTime detection;    // until the survivors agree on who is lost
  SimTime setup;        // buffers and connections of the smaller group, before anything is loaded
  SimTime layer;        // how long one layer executes
};

struct RecoveryProblem {
  ExpertMap map;
  RecoveryCosts costs;
  ExpertCache cache = ExpertCache::kOwn;
  int cache_copies = 2;  // of kRing
  int spare_slots = 0;   // per GPU and layer, used only after a loss
  int first_layer = 0;   // the one that executes next
};

}  // namespace mixnet
