#include "ep/layout.h"

#include "core/index.h"

namespace mixnet::ep {
namespace {

void count_copy(std::vector<TokenCopy>& copies, int64_t token) {
  if (copies.empty() || copies.back().token != token) {
    copies.push_back(TokenCopy{static_cast<int32_t>(token), 0});
  }
  ++copies.back().slots;
}

}  // namespace

std::optional<std::string> bad_choice(const TopK& choices, int experts) {
  for (std::size_t i = 0; i < choices.experts.size(); ++i) {
    const int64_t expert = choices.experts[i];
    if (expert < -1 || expert >= experts) {
      return "topk_experts[" + std::to_string(i / at(choices.top_k)) + "][" +
             std::to_string(i % at(choices.top_k)) + "] is " + std::to_string(expert) +
             ": experts are 0 to " + std::to_string(experts - 1) + ", or -1 for none";
    }
  }
  return std::nullopt;
}

SendLists send_lists(const TopK& choices, const ExpertMap& experts, const RankMap& ranks) {
  SendLists lists;
  lists.to_rank.resize(at(ranks.ranks()));
  lists.to_host.resize(at(ranks.hosts()));
  for (int64_t token = 0; token < choices.tokens(); ++token) {
    for (const int64_t expert : choices.of(token)) {
      if (expert >= 0) {
        const int owner = experts.owner_of(expert);
        count_copy(lists.to_rank[at(owner)], token);
        count_copy(lists.to_host[at(ranks.host_of(owner))], token);
      }
    }
  }
  return lists;
}

DispatchLayout dispatch_layout(const TopK& choices, const ExpertMap& experts,
                               const RankMap& ranks) {
  const SendLists lists = send_lists(choices, experts, ranks);
  DispatchLayout layout;
  layout.token_in_rank =
      Matrix<uint8_t>(static_cast<std::size_t>(choices.tokens()), at(ranks.ranks()));
  for (std::size_t rank = 0; rank < lists.to_rank.size(); ++rank) {
    layout.tokens_per_rank.push_back(static_cast<int32_t>(lists.to_rank[rank].size()));
    for (const TokenCopy& copy : lists.to_rank[rank]) {
      layout.token_in_rank(at(copy.token), rank) = 1;
    }
  }
  for (const auto& copies : lists.to_host) {
    layout.tokens_per_host.push_back(static_cast<int32_t>(copies.size()));
  }
  layout.tokens_per_expert.resize(at(experts.experts()));
  for (const int64_t expert : choices.experts) {
    if (expert >= 0) {
      ++layout.tokens_per_expert[static_cast<std::size_t>(expert)];
    }
  }
  return layout;
}

}  // namespace mixnet::ep
