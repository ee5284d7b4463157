#pragma once

#include <cstdint>

#include "core/units.h"

// What an expert swap costs, and from how many tokens on it pays. Source: section 4.2 of "Balancing
// and Beyond: Communication-Centric Optimizations in Expert Parallelism" (SIGCOMM 2026).
namespace mixnet::plan {

// What travels with one expert of one layer, in bytes per parameter.
struct ExpertState {
  int64_t parameters = 0;  // 3 * hidden * expert FFN width for a gated FFN
  int weight_bytes = 1;
  int gradient_bytes = 0;
  int optimizer_bytes = 0;
};

// Serving: weights only; 1 byte per parameter is FP8, 2 is BF16.
constexpr ExpertState serving_state(int64_t parameters, int weight_bytes) {
  return {parameters, weight_bytes, 0, 0};
}

// Training with Adam in mixed precision: BF16 weights and gradients, FP32 master weights and two
// FP32 moments: 16 bytes per parameter (ZeRO, SC 2020, section 3.1). Where an optimizer is sharded
// over data-parallel ranks, only the shard of the GPU travels: lower `optimizer_bytes`.
constexpr ExpertState training_state(int64_t parameters) { return {parameters, 2, 2, 12}; }

// w: all bytes that travel with the expert.
constexpr Bytes expert_bytes(const ExpertState& state) {
  return Bytes(state.parameters) *
         (state.weight_bytes + state.gradient_bytes + state.optimizer_bytes);
}

// t_swap = w / v_comm. `link` is what one GPU sends in one direction; the expert that comes back
// uses the other direction at the same time, so that a swap takes no longer than a move.
constexpr SimTime swap_time(Bytes expert, BitRate link) { return transfer_time(expert, link); }

// tau = t_swap / t_tok in whole tokens: the least fall of a pair's maximum that pays for the swap,
// at least 1. A `per_token` of 0 (tokens cost nothing) gives a threshold that no fall reaches.
constexpr int64_t swap_threshold(SimTime swap, SimTime per_token) {
  if (per_token.ps() <= 0) {
    return INT64_MAX;
  }
  const int64_t tokens = swap.ps() / per_token.ps() + (swap.ps() % per_token.ps() != 0 ? 1 : 0);
  return tokens < 1 ? 1 : tokens;
}

}  // namespace mixnet::plan
