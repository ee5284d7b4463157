#pragma once

#include <string>
#include <vector>

#include "plan/place.h"
#include "plan/place_state.h"

// From a problem (plan/place.h) to what a search works on, and back. Experts are renumbered by
// descending load, equal loads by index: so the answer does not depend on how they were numbered.
namespace mixnet::plan {

struct ScaledProblem {
  PlaceModel model;
  std::vector<int> original;    // [E]: number of the expert in the problem
  std::vector<int> renumbered;  // [E]: the inverse
  double unit = 1;              // tokens of a mean GPU load; 1 if there are none
  bool sources_known = false;
  std::string note;  // why groups are not kept together; empty if they are or need not be
};

// The problem is valid. Homes are set if it has groups and they divide over the hosts: groups go
// to hosts, equally many each, heaviest first to the lightest, then improved by swaps.
ScaledProblem scale_problem(const PlaceCluster& cluster, const PlaceProblem& problem,
                            double nic_weight);

// In the numbering of the problem.
std::vector<int> original_experts(const ScaledProblem& scaled, const std::vector<int>& experts);
std::vector<int> renumbered_experts(const ScaledProblem& scaled, const std::vector<int>& experts);

// Where the tokens of every expert start: every GPU alike where sources are not known.
struct TokenOrigins {
  Matrix<double> host;  // [N, E]
  Matrix<double> nic;   // [M, E]
};
TokenOrigins token_origins(const PlaceCluster& cluster, const PlaceProblem& problem);

// [M]: tokens that would leave a NIC of average rate, times its rate over the average, if every
// expert were spread evenly over the GPUs that have slots; all 0 with one host.
std::vector<double> fair_nic_tokens(const PlaceCluster& cluster, const TokenOrigins& origins);

// GPUs that have slots.
std::size_t working_gpus(const PlaceCluster& cluster);

// GPU g holds every expert at least floor(S_g / E) times.
std::vector<int> repeats_of(const PlaceCluster& cluster, std::size_t experts);

}  // namespace mixnet::plan
