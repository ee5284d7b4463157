#pragma once

#include <cstdint>

namespace mixnet::ep {

// Which rank has which expert: contiguous runs, as even as can be, the first ranks have one more.
// With fewer experts than ranks the last ranks have none. Experts are physical ones: with replicas,
// the slots of a placement.
class ExpertMap {
 public:
  // experts >= 1, ranks >= 1.
  ExpertMap(int experts, int ranks) : experts_(experts), ranks_(ranks) {}

  int experts() const { return experts_; }
  int first_of(int rank) const {
    const int extra = experts_ % ranks_;
    return rank * (experts_ / ranks_) + (rank < extra ? rank : extra);
  }
  int experts_of(int rank) const { return first_of(rank + 1) - first_of(rank); }
  // 0 <= expert < experts().
  int owner_of(int64_t expert) const {
    const int each = experts_ / ranks_;
    const int64_t with_extra = static_cast<int64_t>(experts_ % ranks_) * (each + 1);
    return static_cast<int>(expert < with_extra ? expert / (each + 1)
                                                : experts_ % ranks_ + (expert - with_extra) / each);
  }

 private:
  int experts_;
  int ranks_;
};

}  // namespace mixnet::ep
