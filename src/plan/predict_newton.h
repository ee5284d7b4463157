#pragma once

#include <cstddef>
#include <span>
#include <vector>

// The Newton step inside the transition fit (plan/predict_fit.h). With supports S_j = {i: P(i, j) > 0}
// and u_j = x_j / sqrt(sigma d_j) (k numbers per column j), solves for dR (E x k)
//   dR_i + sum_{j: i in S_j} (u_j . dR_i - mean over S_j of u_j . dR) u_j = g_i   for every row i.
//
// The column means n_j are the only coupling between rows. Eliminating the rows leaves an E x E
// system: sum_i Z_i n = sum_i Z_i h_i with Z_i = (I + U_i' U_i)^-1 over the columns that row i is
// in, and h_i = U_i' g_i; then dR_i = g_i + U_i Z_i (n - h_i). Rows in more than k columns use
// Z_i = I - U_i' (I + U_i U_i')^-1 U_i. So with s_i columns in row i the cost is
// O(sum_i s_i^2 min(s_i, k) + E^3 / 6): for sparse P far less than the E^2 k of a gradient.
namespace mixnet::plan {

class RowNewton {
 public:
  RowNewton(std::size_t experts, std::size_t window);

  // `gram`: E x E, u_j . u_j' up to the factor `scale`; `u`: E x k up to sqrt(scale). `columns`:
  // E x E, row j is column j of P. Overwrites `g` (E x k) with dR.
  void solve(std::span<const double> gram, std::span<const double> u, double scale,
             std::span<const double> columns, std::span<double> g);

 private:
  void list_supports(std::span<const double> columns);
  void factor_row(std::size_t i, std::span<const double> gram, std::span<const double> u,
                  double scale);
  void apply_row(std::size_t i, std::span<const double> u, double scale, double* v);
  void solve_means();

  std::size_t experts_;
  std::size_t k_ = 0;
  std::size_t slot_;                 // numbers of one row's factor
  std::vector<std::size_t> first_;   // E + 1: columns of row i are list_[first_[i], first_[i + 1])
  std::vector<std::size_t> list_;    // up to E x E
  std::vector<double> factor_;       // E x slot: Cholesky factors, lower, row-major
  std::vector<double> h_;            // up to E x E, beside list_: h_i, later Z_i (n - h_i)
  std::vector<double> schur_;        // E x E, lower
  std::vector<double> means_;        // E: right side, then n
  std::vector<double> work_;         // scratch of one row
  std::vector<double> inner_;        // k
};

}  // namespace mixnet::plan
