#include "core/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/fnv.h"

namespace mixnet {
namespace {

uint64_t split_mix(uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  uint64_t z = x;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(uint64_t root_seed, std::string_view name) {
  uint64_t x = root_seed ^ fnv1a(name);
  for (uint64_t& word : state_) {
    word = split_mix(x);
  }
}

uint64_t RandomStream::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t RandomStream::below(uint64_t bound) {
  CHECK(bound > 0, "empty range");
  // Draws below 2^64 mod bound would favour small results.
  const uint64_t threshold = (0 - bound) % bound;
  uint64_t x = next();
  while (x < threshold) {
    x = next();
  }
  return x % bound;
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomStream::normal() {
  // Box-Muller; the second value is dropped so that every draw costs the same two words.
  const double u = 1.0 - uniform();
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

double RandomStream::log_normal(double mu, double sigma) { return std::exp(mu + sigma * normal()); }

}  // namespace mixnet
