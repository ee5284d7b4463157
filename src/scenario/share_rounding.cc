#include "scenario/share_rounding.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace mixnet::scenario {
namespace {

// Bound of total * unit.
constexpr int64_t kMaxUnits = int64_t{1} << 62;
constexpr int kMaxExtraBits = 20;

// Spreads `rest` (positive or negative, left over by floating-point rounding) as evenly as the
// range [0, cap] of every quota allows, so that equal quotas stay equal.
void settle(std::span<int64_t> quotas, int64_t rest, int64_t cap) {
  while (rest != 0) {
    const int64_t sign = rest > 0 ? 1 : -1;
    const auto room = [&](int64_t quota) { return sign > 0 ? cap - quota : quota; };
    const int64_t open =
        std::count_if(quotas.begin(), quotas.end(), [&](int64_t quota) { return room(quota) > 0; });
    CHECK(open > 0, "the limits leave no room for the total");
    const int64_t even = std::max<int64_t>(1, sign * rest / open);
    for (int64_t& quota : quotas) {
      const int64_t step = std::min({even, room(quota), sign * rest});
      quota += sign * step;
      rest -= sign * step;
    }
  }
}

}  // namespace

int64_t quota_unit(const RowTotal& row, int64_t experts) {
  CHECK(row.total > 0 && experts > 0 && row.total <= kMaxUnits / experts, "row too large");
  int64_t unit = experts;
  for (int bit = 0; bit < kMaxExtraBits && unit <= kMaxUnits / row.total / 2; ++bit) {
    unit *= 2;
  }
  return unit;
}

std::vector<int64_t> quotas_of(std::span<const double> weights, const RowTotal& row) {
  const auto experts = static_cast<int64_t>(weights.size());
  const int64_t unit = quota_unit(row, experts);
  std::vector<std::size_t> by_weight(weights.size());
  std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  // Sums of the smaller weights, added from the smallest up.
  std::vector<double> tail(weights.size());
  double sum = 0;
  for (std::size_t i = weights.size(); i-- > 0;) {
    sum += weights[by_weight[i]];
    tail[i] = sum;
  }
  std::vector<int64_t> quotas(weights.size());
  const int64_t cap = row.limit * unit;
  int64_t left = row.total * unit;
  std::size_t first = 0;
  // The heaviest experts that would exceed the limit get exactly the limit.
  while (first < by_weight.size() && left >= cap &&
         static_cast<double>(left) * (weights[by_weight[first]] / tail[first]) >=
             static_cast<double>(cap)) {
    quotas[by_weight[first]] = cap;
    left -= cap;
    ++first;
  }
  int64_t rest = left;
  for (std::size_t i = first; i < by_weight.size() && tail[first] > 0; ++i) {
    const double share = static_cast<double>(left) * (weights[by_weight[i]] / tail[first]);
    int64_t& quota = quotas[by_weight[i]];
    quota = std::min(cap, static_cast<int64_t>(share));
    rest -= quota;
  }
  settle(quotas, rest, cap);
  return quotas;
}

void round_quotas(std::span<const int64_t> quotas, int64_t unit, int64_t source, int64_t sources,
                  std::span<uint32_t> counts) {
  CHECK(source >= 0 && source < sources && sources <= INT64_MAX / unit, "no such source");
  // Only the fraction of the running sum is carried, so that the phase cannot overflow it.
  int64_t fraction = unit * source / sources;
  for (std::size_t e = 0; e < quotas.size(); ++e) {
    const int64_t whole = quotas[e] / unit;
    fraction += quotas[e] % unit;
    const int64_t carry = fraction >= unit ? 1 : 0;
    fraction -= carry * unit;
    counts[e] = static_cast<uint32_t>(whole + carry);
  }
}

}  // namespace mixnet::scenario
