#include "scenario/flow_sets.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

#include "scenario/python_random.h"

namespace mixnet::scenario {
namespace {

// SHA-256 (FIPS 180-4). Its constants are the first 32 bits of the fractional parts of the square
// and cube roots of the primes; computed here, so that no table can hold a typing error.
class Sha256 {
 public:
  static std::string prefix(std::string text) {
    Sha256 hash;
    const uint64_t bits = uint64_t{text.size()} * 8;
    text.push_back('\x80');
    while (text.size() % 64 != 56) {
      text.push_back('\0');
    }
    for (int shift = 56; shift >= 0; shift -= 8) {
      text.push_back(static_cast<char>(bits >> shift));
    }
    for (std::size_t at = 0; at < text.size(); at += 64) {
      hash.block(text.data() + at);
    }
    std::array<char, 17> hex{};
    std::snprintf(hex.data(), hex.size(), "%08x%08x", hash.state_[0], hash.state_[1]);
    return hex.data();
  }

 private:
  // floor(p^(1/root) * 2^32) mod 2^32, by bisection in 128-bit integers.
  static uint32_t root_bits(uint32_t p, int root) {
    __extension__ using Wide = unsigned __int128;
    uint64_t low = 0;
    uint64_t high = uint64_t{1} << 37;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      const Wide power = Wide{middle} * middle * (root == 2 ? 1 : middle);
      const bool above = power > (Wide{p} << (32 * root));
      (above ? high : low) = middle;
    }
    return static_cast<uint32_t>(low);
  }

  Sha256() {
    std::size_t count = 0;
    for (uint32_t p = 2; count < 64; ++p) {
      bool prime = true;
      for (uint32_t d = 2; d * d <= p; ++d) {
        prime = prime && p % d != 0;
      }
      if (prime) {
        if (count < 8) {
          state_[count] = root_bits(p, 2);
        }
        constants_[count++] = root_bits(p, 3);
      }
    }
  }

  void block(const char* bytes) {
    std::array<uint32_t, 64> w{};
    for (std::size_t i = 0; i < 64; ++i) {
      w[i / 4] = (w[i / 4] << 8) | static_cast<unsigned char>(bytes[i]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const uint32_t a = w[i - 15];
      const uint32_t b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
    }
    std::array<uint32_t, 8> s = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                          ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants_[i] + w[i];
      const uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                          ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) {
      state_[i] += s[i];
    }
  }

  std::array<uint32_t, 8> state_{};
  std::array<uint32_t, 64> constants_{};
};

std::string hash_of(const FlowSet& set) { return Sha256::prefix(flow_text(set)); }

TEST(FlowSets, HashOfAKnownText) { EXPECT_EQ(Sha256::prefix("abc"), "ba7816bf8f01cfea"); }

// The published sets, by the first 16 digits of the SHA-256 of their files.
TEST(FlowSets, AreThePublishedOnesToTheByte) {
  EXPECT_EQ(hash_of(permutation_flows(128)), "abf30dd1da7b3977");
  EXPECT_EQ(hash_of(permutation_flows(1024)), "16e34944684b0cfb");
  EXPECT_EQ(hash_of(moe_flows(4, 0)), "ffcadb2c9396687e");
  EXPECT_EQ(hash_of(moe_flows(32, 4)), "b994993aa4d3e7fe");
  EXPECT_EQ(hash_of(all_to_all_flows(128, Bytes(65'536))), "81ac8f22b91fd47a");
  EXPECT_EQ(hash_of(all_to_all_flows(128, Bytes(1'048'576))), "c26762f3388fcd4c");
  EXPECT_EQ(hash_of(random_flows(128, 8)), "15bb1dd9bcc03f3f");
  EXPECT_EQ(hash_of(random_flows(1024, 2)), "ff9da80a2cb35e20");
  EXPECT_EQ(hash_of(random_flows(1024, 4)), "d3642eb36dcf2351");
  EXPECT_EQ(hash_of(random_flows(1024, 8)), "cb59771c4bdeac1c");
}

// Both branches of sample(): random.Random(5) in CPython 3.11.
TEST(PythonRandom, SamplesLikePython) {
  PythonRandom list(5);
  EXPECT_EQ(list.sample(10, 3), (std::vector<uint32_t>{9, 4, 5}));
  PythonRandom set(5);
  EXPECT_EQ(set.sample(1000, 6), (std::vector<uint32_t>{637, 261, 759, 367, 814, 707}));
  PythonRandom uniform(5);
  EXPECT_EQ(uniform.random(), 0.6229016948897019);
}

}  // namespace
}  // namespace mixnet::scenario
