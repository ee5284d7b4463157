#include "ep/bench_load.h"

#include <numeric>

#include "core/index.h"
#include "core/random.h"

namespace mixnet::ep {

std::vector<int64_t> bench_choices(const BenchTokens& shape, int rank) {
  RandomStream random(static_cast<uint64_t>(rank) + 1, "bench choices");
  std::vector<int64_t> experts(at(shape.experts));
  std::iota(experts.begin(), experts.end(), 0);
  std::vector<int64_t> choices;
  for (int64_t token = 0; token < shape.tokens; ++token) {
    for (std::size_t slot = 0; slot < at(shape.top_k); ++slot) {
      std::swap(experts[slot], experts[slot + random.below(experts.size() - slot)]);
      choices.push_back(experts[slot]);
    }
  }
  return choices;
}

}  // namespace mixnet::ep
