#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/result.h"
#include "plan/place_cluster.h"

// Problem. An MoE layer has E experts with loads c_e (tokens of the last window) and P >= E slots
// on D GPUs in hosts; the GPUs of a host share its NICs. Choose r_e >= 1 slots for every expert,
// sum r_e = P, and the GPU of every slot. A token of expert e goes to each of its slots with equal
// probability, so that a slot carries c_e / r_e.
//
// Definitions, all as ratios to an even spread:
//   GPU load     largest sum of c_e / r_e over the slots of a GPU, / (sum c_e / D).
//   NIC receive  largest amount that comes to the slots behind a NIC from other hosts, / the rate
//                of the NIC, relative to the same with every expert spread evenly over all GPUs.
//   NIC send     the same for the tokens of the GPUs behind a NIC that leave for other hosts.
// One token copy travels per destination expert (transport modes 0 and 1); combine is the same
// with both directions exchanged. Where sources are not known, every GPU sends as much as any
// other.
//
// Objective. Minimise max(GPU load, w * NIC send, w * NIC receive), then the NICs alone within the
// GPU load that was reached. Constraints: no expert twice on a GPU of S <= E slots (of more, every
// expert floor(S / E) times, and the rest without repetition); GPU load no higher than EPLB's on
// the same input where EPLB applies. Both at once need not be possible; then the first holds and
// `above_eplb` says so.
//
// Method. Greedy: slots to the largest c_e / r_e; then heaviest slot first to the lightest GPU, on
// a tie to the lightest NIC. Local search on the worst resource: swaps of two slots, exchanges of
// whole GPUs (NIC positions) and hosts, a slot from one expert to another (replica counts);
// perturbed and repeated within a budget that counts steps. The problem is NP-hard; the result
// comes with a lower bound. Section 3.1 of Balancing and Beyond (SIGCOMM 2026) has the three greedy
// passes; counts as part of the search, the two constraints and the bound are ours.
//
// With a placement in use, the search starts from it, and every expert that a GPU has to load costs
// `move_cost` of the objective: without an improvement nothing moves. As EPLB's answer leaves moves
// out of account, its load is no constraint then; `above_eplb` still says how they compare.
//
// Deterministic, and independent of the numbering of experts whose loads differ.
namespace mixnet::plan {

enum class PlacePolicy {
  kEplb,      // plan/eplb.h
  kNicAware,  // this file
  kJoint,     // together with the circuits between hosts
};

const char* place_policy_name(PlacePolicy policy);

struct PlaceProblem {
  std::vector<int64_t> loads;  // [E], >= 0
  // [D, E]: tokens of expert e that start on GPU g, or empty if not known. Columns sum to about
  // loads.
  Matrix<double> sources;
  // Experts in `groups` equal, consecutive groups that each stay on one host, for routing that is
  // limited to groups; 1: no such rule.
  int groups = 1;
  std::vector<int> current;  // [P]: placement in use, or empty
};

// Steps of search that one layer gets by default; 1 step takes about 1 ns.
inline constexpr int64_t kDefaultPlaceWork = 2'500'000;
// Steps, at most, to come from the greedy start down to EPLB's GPU load, or to take duplicates out
// of a map: beside `work`, so that answers of a small budget still obey. Some thousand slots need
// far less.
inline constexpr int64_t kEplbWork = 100'000'000;
// Pairs of GPU and expert that tables are kept for: 512 experts on 65,536 GPUs.
inline constexpr std::size_t kMostPlaceCells = std::size_t{1} << 25;

struct PlaceOptions {
  double nic_weight = 1;  // w, >= 0
  double move_cost =
      1e-3;  // what one expert to be loaded must gain, as a part of the mean GPU load
  int64_t work = kDefaultPlaceWork;  // 0: greedy, improved only as far as EPLB's load demands
};

struct PlacementScore {
  double gpu = 1;       // ratios as defined above; 1 if there is nothing to carry
  double nic_send = 0;  // 0 with one host
  double nic_receive = 0;
  int duplicates = 0;            // slots that repeat an expert of their GPU without need
  std::vector<double> gpu_load;  // [D], tokens
  std::vector<double> nic_sent;  // [M], tokens
  std::vector<double> nic_received;
};

struct LayerPlacement {
  std::vector<int> phy2log;  // [P]; the slots of a GPU are consecutive, see PlaceCluster
  Matrix<int> log2phy;       // [E, most slots of an expert], ascending, padded with -1
  std::vector<int> logcnt;   // [E]
  PlacementScore score;
  double bound = 1;     // no placement that obeys the first constraint has a smaller score.gpu
  int moved = 0;        // experts that GPUs must load, relative to `current`
  double eplb_gpu = 0;  // EPLB's GPU load, 0 where it does not apply
  bool above_eplb = false;
  int64_t steps = 0;  // of search that were taken: see PlaceOptions::work and kEplbWork
  std::string note;   // what was asked for and could not be done; empty if nothing
};

// Errors, with what to change: no experts, a negative load, P < E, more than kMostPlaceCells,
// `sources` or `current` of another shape, an expert of `current` that does not exist or is
// missing.
//
// Time: O(P log P + P g log D + D E) for the greedy start and the tables, g GPUs to a NIC (with
// `sources` O(E D log D) more), then at most `work` steps, kEplbWork where EPLB's load is below the
// greedy start, and what one step that was begun takes.
Result<LayerPlacement> place_layer(const PlaceCluster& cluster, const PlaceProblem& problem,
                                   const PlaceOptions& options);

// Errors: more pairs of GPUs and experts than kMostPlaceCells.
Status check_place_size(const PlaceCluster& cluster, std::size_t experts);

// Errors: a placement in use with another number of slots, with an expert that is none, or without
// one that is. Without a placement in use nothing is checked.
Status check_current(const PlaceProblem& problem, std::size_t slots);

// Scores any map of slots to experts. The map is valid: P entries, every expert at least once.
PlacementScore score_placement(const PlaceCluster& cluster, const PlaceProblem& problem,
                               const std::vector<int>& phy2log);

// Lower bound of the GPU load for any placement, with or without duplicates: what
// LayerPlacement::bound is for those without.
double any_placement_bound(const PlaceCluster& cluster, const std::vector<int64_t>& loads);

// Experts that GPUs must load to come from one placement to the other.
int moved_experts(const PlaceCluster& cluster, const std::vector<int>& from,
                  const std::vector<int>& to);

}  // namespace mixnet::plan
