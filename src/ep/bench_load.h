#pragma once

#include <cstdint>
#include <vector>

// The exchanges that are measured, here and with whatever they are compared to.
namespace mixnet::ep {

inline constexpr int kBenchWarmUp = 3;
inline constexpr int kBenchRounds = 31;
inline constexpr int kBenchTokenRounds = 5;

// All-to-all of skewed sizes, `average` bytes per pair of ranks.
struct BenchParcels {
  const char* name;
  int64_t average;
};
inline constexpr BenchParcels kBenchParcels[] = {{"all-to-all-4MB", 64 << 10},
                                                 {"all-to-all-67MB", 1 << 20}};
// From 0.5 to 1.5 times the average.
constexpr int64_t bench_parcel_bytes(int64_t average, int from, int to) {
  const int64_t step = (from * 5 + to * 3) % 9;
  return average / 2 + average * step / 8;
}

// Dispatch and combine of BF16 tokens, uniform choices.
struct BenchTokens {
  const char* name;
  int64_t tokens;  // per rank
  int64_t hidden;
  int experts;
  int top_k;
};
inline constexpr BenchTokens kBenchTokens[] = {{"tokens-top2-of-8", 4096, 4096, 8, 2},
                                               {"tokens-top8-of-64", 4096, 4096, 64, 8}};
// [tokens, top_k], distinct for a token.
std::vector<int64_t> bench_choices(const BenchTokens& shape, int rank);

}  // namespace mixnet::ep
