#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"
#include "ep/exchange.h"

// Combine, the way back of a dispatch: every rank hands in one row for each row that it received,
// and every token gets the sum of its rows. Nothing is multiplied by weights: the ranks of the
// experts apply them. The backward pass of a dispatch is a combine.
namespace mixnet::ep {

struct CombineInput {
  // [handle->rows, hidden]. In the window (Dispatched::x, or Communicator::allocate) it is read
  // where it is; elsewhere it is copied there first. Unchanged until the call returns.
  ConstAddress x;
  int64_t hidden = 0;
  DataType type = DataType::kBf16;
  bool weighted = false;                  // weights are handed in too
  std::span<const float> weights = {};    // [handle->rows, top_k]
  std::vector<ConstAddress> biases = {};  // up to 2 of [tokens, hidden], each added once
};

struct Combined {
  std::vector<float> weights;  // [tokens, top_k] sums of what was handed in; or empty
  // Tokens that were sent to a rank that is lost by now: its rows are missing in their sums.
  std::vector<int32_t> tokens_with_loss;
};

// All ranks that are not lost call it together, with handles of one dispatch. `out`: [tokens,
// hidden] of this rank's tokens; a token without rows gets zeros, plus biases. Sums are taken in
// single precision in a fixed order (own host and direct copies by rank; where a host sends one
// row, its ranks are added there first, and that sum is rounded to `type`), so that equal inputs
// give equal bits. Errors, the same on all ranks: declarations that differ (names rank and field),
// a window that is too small.
Result<Combined> combine(ExchangeState& state, const CombineInput& input,
                         const std::shared_ptr<const DispatchHandle>& handle, Address out);

}  // namespace mixnet::ep
