#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Turning real-valued shares into exact counts, in two steps: quotas in fixed point (integers, so
// that sums are exact), then counts by rounding the running sum of the quotas.
namespace mixnet::scenario {

// What a row is: `total` assignments over the experts, at most `limit` for each.
// Valid: 0 < total <= limit * experts and total * experts < 2^62.
struct RowTotal {
  int64_t total = 0;
  int64_t limit = 0;
};

// Fixed-point unit of the quotas of a row: 1 = `quota_unit()` units. It is a multiple of the number
// of experts, so that an even share is an integer and stays exactly even.
int64_t quota_unit(const RowTotal& row, int64_t experts);

// quotas[e] = min(limit, lambda * weights[e]) in units, with lambda such that they sum to exactly
// total * unit. Weights are finite, >= 0 and not all 0; where the limit leaves more than the
// positive weights can take, the rest is spread evenly. O(E log E).
std::vector<int64_t> quotas_of(std::span<const double> weights, const RowTotal& row);

// counts[e] = floor(Q[e+1] + p) - floor(Q[e] + p), where Q are the running sums of the quotas and
// p = source / sources. So the counts sum to the row's total, every range of neighbouring experts
// gets its quota to within one, and no count exceeds the quota rounded up. If all sources have the
// same quotas, Hermite's identity sum_s floor(x + s/S) = floor(S x) gives the same guarantee for
// the sums over sources.
void round_quotas(std::span<const int64_t> quotas, int64_t unit, int64_t source, int64_t sources,
                  std::span<uint32_t> counts);

}  // namespace mixnet::scenario
