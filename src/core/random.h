#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace mixnet {

// Seeded random numbers, equal on every compiler and machine. One root seed gives one independent
// stream per name, so a new consumer never shifts the draws of another.
// Generator: xoshiro256** (Blackman, Vigna 2018), seeded by SplitMix64.
class RandomStream {
 public:
  RandomStream(uint64_t root_seed, std::string_view name);

  uint64_t next();
  // Uniform in [0, bound), without modulo bias; bound > 0.
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1) with 53 bits.
  double uniform();
  // Standard normal.
  double normal();
  // exp(N(mu, sigma)).
  double log_normal(double mu, double sigma);

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

 private:
  uint64_t state_[4];
};

}  // namespace mixnet
