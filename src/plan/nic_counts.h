#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/check.h"

namespace mixnet::plan {

// NICs of one kind, per server: as many everywhere, or counted one by one (after failures, or
// where servers differ). Converts from both, so that a uniform region is written as a number.
class NicCounts {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a number is the common case
  NicCounts(int everywhere) : everywhere_(everywhere) { CHECK(everywhere >= 0, "negative NICs"); }
  // One count per server, all >= 0.
  // NOLINTNEXTLINE(google-explicit-constructor): as above
  NicCounts(std::vector<int> counts) : counts_(std::move(counts)) {
    for (const int count : counts_) {
      CHECK(count >= 0, "negative NICs");
    }
  }

  int of(std::size_t server) const { return counts_.empty() ? everywhere_ : counts_[server]; }

  // Over servers 0 to n - 1.
  int total(std::size_t n) const {
    int sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += of(i);
    }
    return sum;
  }

  // Can it be asked about n servers?
  bool fits(std::size_t n) const { return counts_.empty() || counts_.size() == n; }

 private:
  int everywhere_ = 0;
  std::vector<int> counts_;
};

}  // namespace mixnet::plan
