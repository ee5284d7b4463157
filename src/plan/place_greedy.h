#pragma once

#include <cstddef>
#include <vector>

#include "plan/effort.h"
#include "plan/place_state.h"

// Where a search for a placement starts (plan/place.h).
namespace mixnet::plan {

// Slots to the largest load per slot, then heaviest slot first to the lightest GPU that may take
// it, less what would stay on its host where sources are known; on a tie to the lightest NIC. Of
// equal experts the one with fewer slots gets the next. Returns the expert of every slot, and
// sets how many comparisons of GPUs that took; no GPU
// breaks its rule on repetition unless gpu_slots leave no other way (GPUs of very different sizes).
// O(P (log P + g log D)) with g GPUs behind a NIC, and O(E D log D) more where sources are known.
std::vector<int> greedy_placement(const PlaceModel& model, bool sources_known,
                                  int64_t* comparisons = nullptr);

// Removes avoidable repetitions of an expert on a GPU, the cheapest way each, as far as `effort`
// goes. For maps of others.
void remove_duplicates(PlaceState& state, Effort& effort);

}  // namespace mixnet::plan
