#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"
#include "ep/exchange.h"

// Token-major dispatch: every rank receives each token that picked one of its experts once, with
// the numbers that the experts have at that rank (the contract of DeepEP's normal mode).
namespace mixnet::ep {

// What to do about a token whose expert is on a lost rank. Either way that slot becomes -1.
enum class LossPolicy : uint8_t {
  kZero,         // the expert contributes nothing
  kRenormalise,  // the weights of the token's other slots grow so that their sum stays; a token
                 // that lost all its experts still gets zero
};

struct DispatchInput {
  ConstAddress x;  // [tokens, hidden], contiguous rows; may be null for 0 tokens
  int64_t tokens = 0;
  int64_t hidden = 0;
  DataType type = DataType::kBf16;
  TopK choices;                         // [tokens, top_k]
  std::span<const float> weights = {};  // [tokens, top_k]; empty when the options say so
};

struct DispatchOptions {
  int experts = 0;
  TransportMode mode = TransportMode::kRelay;
  bool weighted = true;      // weights travel too
  int alignment = 1;         // tokens_per_expert is rounded up to multiples of it
  int64_t worst_tokens = 0;  // > 0: room for so many rows, and no list of tokens per expert
  LossPolicy on_loss = LossPolicy::kZero;
};

struct Dispatched {
  WindowBlock block;  // owns the memory of x, experts and weights
  Address x;          // [rows, hidden]
  int64_t rows = 0;   // distinct tokens, by source rank, then in the source's order
  // [capacity, top_k]: number of the expert among this rank's, or -1. capacity = rows, or
  // worst_tokens; rows beyond `rows` are all -1.
  std::span<const int64_t> experts;
  std::span<const float> weights;  // [capacity, top_k], 0 where `experts` is -1; or empty
  // Of every local expert, real and rounded up to the alignment (0 stays 0); empty in worst-size
  // mode.
  std::vector<int64_t> tokens_per_expert;
  std::vector<int64_t> aligned_tokens_per_expert;
  // Tokens of this rank that lost a slot to a lost rank, ascending.
  std::vector<int32_t> tokens_with_loss;
  std::shared_ptr<const DispatchHandle> handle;
};

// All ranks that are not lost call it together. Errors, the same on all ranks: declarations that
// differ (names rank and field), a choice outside the experts, a window that is too small.
Result<Dispatched> dispatch(ExchangeState& state, const DispatchInput& input,
                            const DispatchOptions& options);

// Rows of other contents in the layout of an earlier dispatch: the backward pass of its combine.
// Of `input` only x, tokens, hidden and type count. A rank that was lost since then sends nothing,
// and its rows are zero.
Result<Dispatched> dispatch_again(ExchangeState& state, const DispatchInput& input,
                                  const std::shared_ptr<const DispatchHandle>& handle);

}  // namespace mixnet::ep
