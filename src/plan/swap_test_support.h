#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "plan/swap.h"

namespace mixnet::plan::test_support {

struct StepCase {
  StepShape shape;
  std::vector<int> expert;
  std::vector<int64_t> tokens;
  std::vector<uint8_t> lost;

  std::size_t slots() const { return static_cast<std::size_t>(shape.slots_per_gpu); }
  std::size_t gpus() const { return static_cast<std::size_t>(shape.gpus); }
};

// Experts drawn with replacement, so that replicas abound, some on one GPU; a tenth of the slots is
// empty, sometimes a GPU is lost.
inline StepCase random_case(RandomStream& random, const StepShape& shape, uint64_t most_tokens) {
  StepCase made;
  made.shape = shape;
  made.expert.assign(made.gpus() * made.slots(), -1);
  made.tokens.assign(made.expert.size(), 0);
  made.lost.assign(made.gpus(), 0);
  for (uint8_t& lost : made.lost) {
    lost = random.below(8) == 0 ? 1 : 0;
  }
  for (std::size_t s = 0; s < made.expert.size(); ++s) {
    if (made.lost[s / made.slots()] == 0 && random.below(10) != 0) {
      made.expert[s] = static_cast<int>(random.below(static_cast<uint64_t>(shape.experts)));
      made.tokens[s] = static_cast<int64_t>(random.below(most_tokens + 1));
    }
  }
  return made;
}

inline std::vector<int64_t> loads_of(const StepShape& shape, std::span<const int64_t> tokens) {
  std::vector<int64_t> loads(static_cast<std::size_t>(shape.gpus));
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    loads[s / static_cast<std::size_t>(shape.slots_per_gpu)] += tokens[s];
  }
  return loads;
}

// The rule as its text says it, in the plainest way: the oracle of the balancer.
class PlainSwaps {
 public:
  PlainSwaps(const StepCase& step, const SwapRule& rule) : step_(step), rule_(rule) {}

  std::vector<ExpertSwap> run() {
    for (int first = 0; first < step_.shape.gpus; first += step_.shape.gpus_per_host) {
      const int end = std::min(first + step_.shape.gpus_per_host, step_.shape.gpus);
      const std::vector<int64_t> loads = loads_of(step_.shape, step_.tokens);
      std::vector<int> order;
      for (int g = first; g < end; ++g) {
        if (step_.lost[static_cast<std::size_t>(g)] == 0) {
          order.push_back(g);
        }
      }
      std::stable_sort(order.begin(), order.end(), [&loads](int a, int b) {
        return loads[static_cast<std::size_t>(a)] > loads[static_cast<std::size_t>(b)];
      });
      for (std::size_t k = 0; k < order.size() / 2; ++k) {
        pair(order[k], order[order.size() - 1 - k]);
      }
    }
    return swaps_;
  }
  const StepCase& step() const { return step_; }

 private:
  bool holds(int gpu, int expert) const {
    const auto first = step_.expert.begin() + gpu * step_.shape.slots_per_gpu;
    return std::find(first, first + step_.shape.slots_per_gpu, expert) !=
           first + step_.shape.slots_per_gpu;
  }
  int64_t load(int gpu) const {
    return loads_of(step_.shape, step_.tokens)[static_cast<std::size_t>(gpu)];
  }

  void pair(int heavy, int light) {
    for (int k = 0; k < rule_.swaps_per_pair; ++k) {
      if (load(heavy) < load(light)) {
        std::swap(heavy, light);
      }
      const ExpertSwap best = best_of(heavy, light);
      if (best.fall < rule_.threshold) {
        return;
      }
      std::swap(step_.expert[static_cast<std::size_t>(best.heavy)],
                step_.expert[static_cast<std::size_t>(best.light)]);
      std::swap(step_.tokens[static_cast<std::size_t>(best.heavy)],
                step_.tokens[static_cast<std::size_t>(best.light)]);
      swaps_.push_back(best);
    }
  }

  ExpertSwap best_of(int heavy, int light) const {
    ExpertSwap best;
    const int slots = step_.shape.slots_per_gpu;
    const int64_t heavy_load = load(heavy);
    const int64_t light_load = load(light);
    for (int i = heavy * slots; i < (heavy + 1) * slots; ++i) {
      for (int j = light * slots; j < (light + 1) * slots; ++j) {
        const int leaves = step_.expert[static_cast<std::size_t>(i)];
        const int comes = step_.expert[static_cast<std::size_t>(j)];
        if (leaves < 0 || holds(light, leaves) || (comes >= 0 && holds(heavy, comes))) {
          continue;
        }
        const int64_t moved =
            step_.tokens[static_cast<std::size_t>(i)] - step_.tokens[static_cast<std::size_t>(j)];
        const int64_t fall = heavy_load - std::max(heavy_load - moved, light_load + moved);
        if (fall > best.fall) {
          best = {i, j, fall};
        }
      }
    }
    return best;
  }

  StepCase step_;
  SwapRule rule_;
  std::vector<ExpertSwap> swaps_;
};

}  // namespace mixnet::plan::test_support
