#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mixnet::scenario {

// The draws of CPython's random.Random(seed), so that inputs defined by a Python recipe can be made
// again to the byte. Generator: MT19937 with initialisation by array (Matsumoto and Nishimura,
// 1998); the derived draws follow the documented behaviour of Python 3.11. Not for simulations:
// those use RandomStream.
class PythonRandom {
 public:
  explicit PythonRandom(uint32_t seed);

  // random(): uniform in [0, 1) with 53 bits.
  double random();
  // uniform(a, b)
  double uniform(double a, double b) { return a + (b - a) * random(); }
  // Uniform in [0, bound), bound >= 1, by rejection on the bits of `bound`.
  uint32_t below(uint32_t bound);
  // shuffle(items)
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[below(static_cast<uint32_t>(i) + 1)]);
    }
  }
  // sample(range(population), count), count <= population.
  std::vector<uint32_t> sample(uint32_t population, uint32_t count);

 private:
  static constexpr std::size_t kWords = 624;

  uint32_t next();
  void refill();

  std::array<uint32_t, kWords> state_{};
  std::size_t used_ = kWords;
};

}  // namespace mixnet::scenario
