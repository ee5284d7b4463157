#pragma once

#include <cstddef>
#include <span>

// Vector kernels of the transition fit. Loops run over contiguous memory with a fixed number of
// partial sums, so that compilers vectorise them without reordering: results are equal bit for bit
// on every x86-64 machine (other targets may fuse multiplications and additions).
namespace mixnet::plan {

// out[i] += factors[0] * in[i] + factors[1] * in[n + i] + ... over `count` consecutive rows of n.
void accumulate_rows(std::span<double> out, const double* in, const double* factors,
                     std::size_t count);

// sum_i v[i]^2.
double squared_norm(std::span<const double> v);

// sum_i a[i] * b[i], equal lengths.
double dot(std::span<const double> a, std::span<const double> b);

// Largest element; v is not empty.
double largest(std::span<const double> v);

// The tau with sum_i max(v[i] - tau, 0) = 1: max(v - tau, 0) is the point of the probability
// simplex that is nearest to v (Held, Wolfe, Crowder 1974). Newton's method on that piecewise
// linear convex function, from `guess` (the tau of a similar vector; any finite number is right);
// it ends when the set of positive entries repeats, which makes tau exact. O(n) per step; a handful
// of steps. v is finite and not empty.
double simplex_threshold(std::span<const double> v, double guess);

}  // namespace mixnet::plan
