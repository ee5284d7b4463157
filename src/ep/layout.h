#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "ep/expert_map.h"
#include "ep/rank_map.h"

// Who needs which tokens: the layout of a dispatch, from the experts that the router picked. Pure
// functions. A slot of -1 picks nobody. An expert that a token picks twice counts as two pairs of
// token and slot, but the token travels once to a rank (or host).
namespace mixnet::ep {

// The choices of one rank's tokens, [tokens, top_k], row-major.
struct TopK {
  std::span<const int64_t> experts;
  int top_k = 0;

  int64_t tokens() const { return top_k > 0 ? static_cast<int64_t>(experts.size()) / top_k : 0; }
  std::span<const int64_t> of(int64_t token) const {
    return experts.subspan(static_cast<std::size_t>(token * top_k), at(top_k));
  }
};

// What is wrong with it: an expert outside [-1, experts), with token and slot. Nothing: it is fine.
std::optional<std::string> bad_choice(const TopK& choices, int experts);

// get_dispatch_layout() of DeepEP: all outputs for the tokens of one rank.
struct DispatchLayout {
  std::vector<int32_t> tokens_per_rank;    // [ranks] distinct tokens
  std::vector<int32_t> tokens_per_host;    // [hosts] distinct tokens
  std::vector<int32_t> tokens_per_expert;  // [experts] pairs of token and slot
  Matrix<uint8_t> token_in_rank;           // [tokens, ranks] 0 or 1
};
DispatchLayout dispatch_layout(const TopK& choices, const ExpertMap& experts, const RankMap& ranks);

// The same as lists: tokens in ascending order, each with the number of its slots at the
// destination.
struct TokenCopy {
  int32_t token = 0;
  int32_t slots = 0;
};
struct SendLists {
  std::vector<std::vector<TokenCopy>> to_rank;  // [ranks]
  std::vector<std::vector<TokenCopy>> to_host;  // [hosts]
};
SendLists send_lists(const TopK& choices, const ExpertMap& experts, const RankMap& ranks);

}  // namespace mixnet::ep
