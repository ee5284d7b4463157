#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mixnet::plan {

// Of many GPUs, the one that comes first: smallest cost, then smallest tie value, then lowest
// index. A tournament: the winner is known at once, a change costs O(log D).
class LightestGpu {
 public:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  explicit LightestGpu(std::size_t gpus);

  // kNone if no GPU takes part.
  std::size_t first() const { return winner_[1]; }
  bool takes_part(std::size_t gpu) const { return winner_[leaves_ + gpu] != kNone; }

  // The GPU takes part with these values from now on.
  void set(std::size_t gpu, double cost, double tie);
  void leave(std::size_t gpu);
  // Games played so far: the work.
  int64_t games() const { return games_; }

 private:
  bool before(std::size_t a, std::size_t b) const;
  void play(std::size_t gpu);

  std::size_t leaves_ = 1;           // a power of two
  std::vector<std::size_t> winner_;  // [2 * leaves]: node i has children 2 i and 2 i + 1
  std::vector<double> cost_;         // [D]
  std::vector<double> tie_;          // [D]
  int64_t games_ = 0;
};

}  // namespace mixnet::plan
