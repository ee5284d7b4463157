#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "plan/effort.h"
#include "plan/place_state.h"

// Local search for placements (plan/place.h), from a start that obeys the rules on repetition.
//
// Every step looks at the worst resource and takes what leaves the lowest peak among the resources
// it changes: a swap of two slots; else, for a NIC, an exchange of whole GPUs; else a slot from one
// expert to another. So the sorted loads fall lexicographically, and a descent ends. Then the best
// state is perturbed and the descent repeated; what is no worse replaces it.
namespace mixnet::plan {

// The placement in use, and what every expert that a GPU must load costs.
struct MoveCost {
  Matrix<int> on;  // [D, E]; empty if there is none
  double each = 0;

  int moved(const PlaceState& state) const;
  double cost(const PlaceState& state) const;  // of the objective, moves included
};

class PlaceSearch {
 public:
  PlaceSearch(MoveCost moves, uint64_t seed);

  // Descends once, then repeats until `effort` is spent or the cost is at most `target`. `state`
  // becomes the best one that was met; it never gets worse.
  void improve(PlaceState& state, double target, Effort& effort);
  // One descent. Of what it meets, the state of least cost stays.
  void descend(PlaceState& state, double target, Effort& effort) const;

 private:
  bool perturb(PlaceState& state);

  MoveCost moves_;
  RandomStream random_;
};

// Exchanges what whole hosts hold as long as that lowers the worst NIC, or else the sum of squares
// of NIC loads. For known sources.
void exchange_hosts(PlaceState& state, Effort& effort);

// Exchanges whole GPUs inside hosts so that the heaviest slots are spread over the NICs, without
// lifting the worst NIC: hot experts drift most. No-op where every GPU has its own NIC.
void spread_hot_gpus(PlaceState& state, Effort& effort);

}  // namespace mixnet::plan
