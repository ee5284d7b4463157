#include "ep/rank_set.h"

#include <algorithm>
#include <bit>

#include "core/check.h"

namespace mixnet::ep {

void RankSet::add(const RankSet& other) {
  CHECK(words_.size() == other.words_.size(), "sets of ranks of one communicator");
  for (std::size_t i = 0; i < words_.size(); ++i) {
    words_[i] |= other.words_[i];
  }
}

bool RankSet::contains(const RankSet& other) const {
  RankSet both = *this;
  both.add(other);
  return both == *this;
}

bool RankSet::empty() const {
  return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
}

int RankSet::size() const {
  int count = 0;
  for (const uint64_t word : words_) {
    count += std::popcount(word);
  }
  return count;
}

std::vector<int> RankSet::ranks() const {
  std::vector<int> all;
  for (int rank = 0; rank < static_cast<int>(words_.size()) * 64; ++rank) {
    if (has(rank)) {
      all.push_back(rank);
    }
  }
  return all;
}

std::string RankSet::text() const {
  const std::vector<int> all = ranks();
  std::string text;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end] == all[end - 1] + 1) {
      ++end;
    }
    text += (text.empty() ? "" : ", ") + std::to_string(all[i]);
    if (end - i > 1) {
      text += "-" + std::to_string(all[end - 1]);
    }
    i = end;
  }
  return text.empty() ? "none" : text;
}

}  // namespace mixnet::ep
