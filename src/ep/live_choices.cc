#include "ep/live_choices.h"

namespace mixnet::ep {
namespace {

void keep_sum(std::span<float> weights, std::span<const int64_t> before,
              std::span<const int64_t> after) {
  float all = 0;
  float left = 0;
  for (std::size_t slot = 0; slot < weights.size(); ++slot) {
    all += before[slot] >= 0 ? weights[slot] : 0.0F;
    left += after[slot] >= 0 ? weights[slot] : 0.0F;
  }
  if (left != 0) {
    for (float& weight : weights) {
      weight *= all / left;
    }
  }
}

}  // namespace

LiveChoices live_choices(const TopK& choices, std::span<const float> weights,
                         const ExpertMap& experts, const RankSet& lost, bool renormalise) {
  LiveChoices live{
      {choices.experts.begin(), choices.experts.end()}, {weights.begin(), weights.end()}, {}};
  if (lost.empty()) {
    return live;
  }
  const std::size_t top_k = at(choices.top_k);
  for (int64_t token = 0; token < choices.tokens(); ++token) {
    const std::size_t first = static_cast<std::size_t>(token) * top_k;
    bool loses = false;
    for (std::size_t slot = first; slot < first + top_k; ++slot) {
      if (live.experts[slot] >= 0 && lost.has(experts.owner_of(live.experts[slot]))) {
        live.experts[slot] = -1;
        loses = true;
      }
    }
    if (!loses) {
      continue;
    }
    live.tokens_with_loss.push_back(static_cast<int32_t>(token));
    if (renormalise && !live.weights.empty()) {
      keep_sum(std::span(live.weights).subspan(first, top_k), choices.of(token),
               std::span<const int64_t>(live.experts).subspan(first, top_k));
    }
  }
  return live;
}

}  // namespace mixnet::ep
