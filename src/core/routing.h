#pragma once

#include <cstdint>
#include <span>

#include "core/check.h"

namespace mixnet {

// A routing trace: uint32 token counts [iteration, layer, source, expert], row-major. A view; the
// owner of the memory (often a mapped file) outlives it.
struct RoutingView {
  int64_t iterations = 0;
  int64_t layers = 0;
  int64_t sources = 0;
  int64_t experts = 0;
  const uint32_t* counts = nullptr;

  // Tokens that `source` sends to each expert.
  std::span<const uint32_t> row(int64_t iteration, int64_t layer, int64_t source) const {
    CHECK(iteration >= 0 && iteration < iterations && layer >= 0 && layer < layers && source >= 0 &&
              source < sources,
          "row outside the trace");
    const int64_t at = ((iteration * layers + layer) * sources + source) * experts;
    return {counts + at, static_cast<std::size_t>(experts)};
  }
};

// How a trace is read as the routing of a job. Nothing is repeated or rescaled unless it says so.
struct RoutingUse {
  int64_t first_iteration = 0;      // trace iteration that the simulated iteration starts at
  bool per_micro_batch = false;     // the trace's first axis counts micro-batches
  bool repeat_layers = false;       // trace layer l mod layers serves MoE layer l
  bool counts_are_weights = false;  // scale every source row to its tokens * top-k
};

}  // namespace mixnet
