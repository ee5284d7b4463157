#include "plan/predict_simplex.h"

#include <algorithm>

#include "core/check.h"

// The wide version has the same results: it has no fused multiply-add, and the order of the sums is
// written out. Sanitizers do not support the dispatch.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define MIXNET_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define MIXNET_WIDE_VECTORS
#endif

namespace mixnet::plan {
namespace {

constexpr std::size_t kLanes = 8;

double total(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

struct Above {
  double sum = 0;    // of v - tau over the entries above tau
  double count = 0;  // how many they are
};

MIXNET_WIDE_VECTORS Above above(std::span<const double> v, double tau) {
  double sum[kLanes] = {};
  double count[kLanes] = {};
  const double* in = v.data();
  const std::size_t n = v.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double d = in[i + l] - tau;
      sum[l] += d > 0 ? d : 0.0;
      count[l] += d > 0 ? 1.0 : 0.0;
    }
  }
  for (; i < n; ++i) {
    const double d = in[i] - tau;
    sum[0] += d > 0 ? d : 0.0;
    count[0] += d > 0 ? 1.0 : 0.0;
  }
  return {total(sum), total(count)};
}

}  // namespace

MIXNET_WIDE_VECTORS void accumulate_rows(std::span<double> out, const double* in,
                                         const double* factors, std::size_t count) {
  const std::size_t n = out.size();
  double* __restrict to = out.data();
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) {
    const double* __restrict a = in + r * n;
    const double* __restrict b = a + n;
    const double* __restrict c = b + n;
    const double* __restrict d = c + n;
    const double fa = factors[r];
    const double fb = factors[r + 1];
    const double fc = factors[r + 2];
    const double fd = factors[r + 3];
    for (std::size_t i = 0; i < n; ++i) {
      to[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
    }
  }
  for (; r < count; ++r) {
    const double* __restrict a = in + r * n;
    const double f = factors[r];
    for (std::size_t i = 0; i < n; ++i) {
      to[i] += f * a[i];
    }
  }
}

double squared_norm(std::span<const double> v) { return dot(v, v); }

double dot(std::span<const double> a, std::span<const double> b) {
  CHECK(a.size() == b.size(), "vectors of different length");
  double lanes[kLanes] = {};
  const double* x = a.data();
  const double* y = b.data();
  const std::size_t n = a.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      lanes[l] += x[i + l] * y[i + l];
    }
  }
  for (; i < n; ++i) {
    lanes[0] += x[i] * y[i];
  }
  return total(lanes);
}

MIXNET_WIDE_VECTORS double largest(std::span<const double> v) {
  CHECK(!v.empty(), "no largest element");
  double lanes[kLanes];
  std::fill(lanes, lanes + kLanes, v[0]);
  const double* in = v.data();
  const std::size_t n = v.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      lanes[l] = lanes[l] < in[i + l] ? in[i + l] : lanes[l];
    }
  }
  for (; i < n; ++i) {
    lanes[0] = lanes[0] < in[i] ? in[i] : lanes[0];
  }
  return *std::max_element(lanes, lanes + kLanes);
}

double simplex_threshold(std::span<const double> v, double guess) {
  // Newton from a tau with no entry above has no slope; from max - 1 it always has one.
  Above at = above(v, guess);
  if (at.count == 0) {
    guess = largest(v) - 1;
    at = above(v, guess);
  }
  // Right of the root one step leads to its left, and there the set of entries above only shrinks:
  // equally many entries are the same ones, after at most n steps.
  bool left = at.sum >= 1;
  double tau = guess + (at.sum - 1) / at.count;
  for (std::size_t step = 0; step <= v.size(); ++step) {
    const double count = at.count;
    at = above(v, tau);
    if (at.count == 0) {  // rounding put tau onto the largest entry: the nearest point is a corner
      return largest(v) - 1;
    }
    const double next = tau + (at.sum - 1) / at.count;
    const bool settled = left && at.count == count;
    left = true;
    tau = next;
    if (settled) {
      break;
    }
  }
  return tau;
}

}  // namespace mixnet::plan
