#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/place_input.h"
#include "cli/swap_cost.h"
#include "core/result.h"
#include "core/units.h"
#include "plan/place.h"
#include "plan/place_cluster.h"

// What `mixnet place` was given, for its three answers: a placement, a placement with circuits, and
// the replay of a trace.
namespace mixnet::cli {

inline constexpr double kPlaceStepsPerMs = 1e6;

struct PlaceArguments {
  std::string loads;
  std::string replay;  // a trace, instead of loads
  std::string out;     // of the replay
  int64_t every = 200;
  int64_t threshold = 1;
  SwapCostArguments swap_cost;
  int alpha = 0;
  int eps = 0;
  double spread = 0;
  std::string policy = "nic-aware";
  int gpus = 0;
  int nodes = 0;
  int slots = 0;
  int groups = 1;
  std::string topology;
  int gpus_per_host = 0;  // of the topology; 0 without one
  BitRate nvlink_rate;    // of the topology; 0 if it does not say
  std::string current;
  double budget_ms = static_cast<double>(plan::kDefaultPlaceWork) / kPlaceStepsPerMs;
  double nic_weight = 1;
  double move_cost = 1e-3;
  bool json = false;
};

// Everything the policies need, checked.
struct PlaceInputs {
  LayerLoads layers;
  std::vector<std::vector<int>> current;
  plan::PlaceCluster cluster;
  std::vector<std::string> notes;
};

// GPUs and nodes that were not typed follow from the topology. Errors: neither says them, or the
// shape cannot be.
Result<plan::PlaceCluster> cluster_of(PlaceArguments& typed);

// What the shape of the cluster leaves out, in words.
std::vector<std::string> shape_notes(const PlaceArguments& typed);

// Groups are of equal size; `file` has the experts.
Status check_groups(const PlaceArguments& typed, int64_t experts, const std::string& file);

void add_joint_options(CLI::App& command, PlaceArguments& typed);
void add_replay_options(CLI::App& command, PlaceArguments& typed);

// Print their answer; return the exit code.
int run_place_joint(const PlaceArguments& typed, const PlaceInputs& inputs);
int run_place_replay(const PlaceArguments& typed, const plan::PlaceCluster& cluster);

}  // namespace mixnet::cli
