#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ep/layout.h"
#include "ep/rank_set.h"

namespace mixnet::ep {

// The choices without the experts of lost ranks, which become -1.
struct LiveChoices {
  std::vector<int64_t> experts;
  std::vector<float> weights;
  std::vector<int32_t> tokens_with_loss;  // ascending
};

// `renormalise`: the weights of a token that keeps some slots are scaled so that their sum stays.
LiveChoices live_choices(const TopK& choices, std::span<const float> weights,
                         const ExpertMap& experts, const RankSet& lost, bool renormalise);

}  // namespace mixnet::ep
