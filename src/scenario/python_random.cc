#include "scenario/python_random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace mixnet::scenario {

PythonRandom::PythonRandom(uint32_t seed) {
  state_[0] = 19650218;
  for (uint32_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  // The seed is an array of one word, so the key index is always 0.
  std::size_t i = 1;
  const auto wrap = [this, &i] {
    if (++i >= kWords) {
      state_[0] = state_[kWords - 1];
      i = 1;
    }
  };
  for (std::size_t k = 0; k < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525U)) + seed;
    wrap();
  }
  for (std::size_t k = 0; k + 1 < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941U)) -
                static_cast<uint32_t>(i);
    wrap();
  }
  state_[0] = 0x80000000U;
}

void PythonRandom::refill() {
  constexpr std::size_t shift = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const uint32_t y = (state_[i] & 0x80000000U) | (state_[(i + 1) % kWords] & 0x7fffffffU);
    state_[i] = state_[(i + shift) % kWords] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  used_ = 0;
}

uint32_t PythonRandom::next() {
  if (used_ == kWords) {
    refill();
  }
  uint32_t y = state_[used_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

double PythonRandom::random() {
  const uint32_t high = next() >> 5;
  const uint32_t low = next() >> 6;
  return (high * 67108864.0 + low) * 0x1.0p-53;
}

uint32_t PythonRandom::below(uint32_t bound) {
  CHECK(bound >= 1, "empty range");
  const int bits = 32 - std::countl_zero(bound);
  uint32_t x = next() >> (32 - bits);
  while (x >= bound) {
    x = next() >> (32 - bits);
  }
  return x;
}

std::vector<uint32_t> PythonRandom::sample(uint32_t population, uint32_t count) {
  CHECK(count <= population, "a sample larger than the population");
  // Python draws without replacement from a list if that is smaller than a set of the results.
  double set_size = 21;
  if (count > 5) {
    set_size += std::pow(4.0, std::ceil(std::log(3.0 * count) / std::log(4.0)));
  }
  std::vector<uint32_t> result;
  if (population <= set_size) {
    std::vector<uint32_t> pool(population);
    std::iota(pool.begin(), pool.end(), 0U);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t j = below(population - i);
      result.push_back(pool[j]);
      pool[j] = pool[population - i - 1];
    }
    return result;
  }
  while (result.size() < count) {
    const uint32_t j = below(population);
    if (std::find(result.begin(), result.end(), j) == result.end()) {
      result.push_back(j);
    }
  }
  return result;
}

}  // namespace mixnet::scenario
