#pragma once

#include <cstddef>
#include <vector>

// Lower bounds of the largest GPU load of a placement (plan/place.h). A load T is out of reach if
//   - it is below the mean;
//   - sum_e ceil(c_e / T) > P, or some c_e > D * T: slots carry at most T and there are too few;
//   - without duplicates, the same with T less the lightest company that a slot can have: the
//     S - 1 smallest c_f / most(f), where S is the smallest number of slots of a GPU and most(f) =
//     min(D, P - E + 1) the largest count of an expert;
//   - without duplicates, more than D slots must carry over half of T (less the company of two):
//     which experts to divide until they do not is a knapsack, of which the linear relaxation is
//     taken.
// Each is monotone in T, so the bound is found by bisection.
namespace mixnet::plan {

struct BoundInput {
  std::vector<double> loads;    // [E], descending
  std::size_t slots = 0;        // P
  std::size_t gpus = 0;         // D, those with slots
  std::size_t least_slots = 0;  // S
  bool duplicates = false;      // placements may repeat an expert on a GPU
};

// In the unit of loads. O(E log E log(1 / precision)), O(E) if the mean is within reach.
double gpu_load_bound(const BoundInput& input);

}  // namespace mixnet::plan
