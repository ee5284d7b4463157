#pragma once

#include <cstdint>
#include <vector>

#include "core/study.h"
#include "core/units.h"

namespace mixnet::cli {

// Experts of one layer that change their rank from one plan to the next.
struct ExpertMoves {
  int64_t moved = 0;
  int64_t busiest_rank = 0;    // the larger of what one rank sends and receives, over all ranks
  int64_t busiest_server = 0;  // the same of servers, without what stays inside
};

// Maps of slots to experts, equally many slots per rank.
ExpertMoves moves_between(const std::vector<int>& from, const std::vector<int>& to, int ranks,
                          int ranks_per_server);

// The least time that the moves of one layer and one copy of the job take: the busiest server at
// the rate of all its NICs, or the busiest rank at the NVLink rate of its GPUs, whichever is
// longer. Both directions at once, nothing else on the links.
SimTime moving_time(const ExpertMoves& moves, Bytes expert, const Study& study);

}  // namespace mixnet::cli
