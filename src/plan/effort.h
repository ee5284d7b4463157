#pragma once

#include <cstdint>

namespace mixnet::plan {

// Nanoseconds of a common machine, as a count of steps: what a search may still spend. It counts,
// instead of reading a clock, so that equal budgets give equal answers.
struct Effort {
  int64_t left = 0;
  int64_t used = 0;
  bool spend(int64_t steps) {
    left -= steps;
    used += steps;
    return left > 0;
  }
};

}  // namespace mixnet::plan
