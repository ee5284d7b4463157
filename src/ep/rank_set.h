#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/index.h"

namespace mixnet::ep {

// A set of ranks; equal sets have equal words, so that they can be sent and compared as they are.
class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(int ranks) : words_(at((ranks + 63) / 64), 0) {}

  bool has(int rank) const { return (words_[at(rank / 64)] >> (rank % 64) & 1) != 0; }
  void add(int rank) { words_[at(rank / 64)] |= uint64_t{1} << (rank % 64); }
  void add(const RankSet& other);
  bool contains(const RankSet& other) const;
  bool empty() const;
  int size() const;
  std::vector<int> ranks() const;  // ascending
  std::string text() const;        // "1, 4-6", "none"

  const std::vector<uint64_t>& words() const { return words_; }
  std::vector<uint64_t>& words() { return words_; }

  bool operator==(const RankSet&) const = default;

 private:
  std::vector<uint64_t> words_;
};

}  // namespace mixnet::ep
