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

// Where the tokens of every expert start: every GPU alike where sources are not known. Tables are
// kept only of what is known.
class TokenOrigins {
 public:
  TokenOrigins(const PlaceCluster& cluster, const PlaceProblem& problem);

  std::size_t hosts() const { return host_part_.size(); }
  std::size_t nics() const { return nic_part_.size(); }
  double from_host(std::size_t host, std::size_t expert) const {
    return known() ? host_(host, expert) : load_[expert] * host_part_[host];
  }
  double from_nic(std::size_t nic, std::size_t expert) const {
    return known() ? nic_(nic, expert) : load_[expert] * nic_part_[nic];
  }

 private:
  bool known() const { return !host_.empty(); }

  std::vector<double> load_;       // [E]
  std::vector<double> host_part_;  // [N]: of the GPUs
  std::vector<double> nic_part_;   // [M]
  Matrix<double> host_;            // [N, E], empty where sources are not known
  Matrix<double> nic_;             // [M, E]
};

// [N]: tokens that start on every host, summed over experts in this order: rounded alike however
// experts are numbered if the order does not depend on that.
std::vector<double> host_tokens(const TokenOrigins& origins, const std::vector<int>& order);

// [M]: tokens that would leave a NIC of average rate, times its rate over the average, if every
// expert were spread evenly over the GPUs that have slots; all 0 with one host.
std::vector<double> fair_nic_tokens(const PlaceCluster& cluster,
                                    const std::vector<double>& host_tokens);

// GPUs that have slots.
std::size_t working_gpus(const PlaceCluster& cluster);

// GPU g holds every expert at least floor(S_g / E) times.
std::vector<int> repeats_of(const PlaceCluster& cluster, std::size_t experts);

}  // namespace mixnet::plan
