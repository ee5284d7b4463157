#include "plan/predict_newton.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plan/predict_simplex.h"

namespace mixnet::plan {
namespace {

// In place, lower, row-major with row length n. The matrix is the identity plus a Gram matrix, or
// a sum of inverses of such: rounding may cost its definiteness only where that means nothing.
void cholesky(double* a, std::size_t n) {
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c <= r; ++c) {
      const double value = a[r * n + c] - dot({a + r * n, c}, {a + c * n, c});
      if (c < r) {
        a[r * n + c] = value / a[c * n + c];
      } else {
        a[r * n + r] = std::sqrt(std::max(value, 1e-13 * (a[r * n + r] + 1e-300)));
      }
    }
  }
}

void solve_lower(const double* l, std::size_t n, double* v) {
  for (std::size_t r = 0; r < n; ++r) {
    v[r] = (v[r] - dot({l + r * n, r}, {v, r})) / l[r * n + r];
  }
}

void solve_upper(const double* l, std::size_t n, double* v) {
  for (std::size_t r = n; r-- > 0;) {
    v[r] /= l[r * n + r];
    const double x = v[r];
    const double* row = l + r * n;
    for (std::size_t c = 0; c < r; ++c) {
      v[c] -= row[c] * x;
    }
  }
}

}  // namespace

RowNewton::RowNewton(std::size_t experts, std::size_t window)
    : experts_(experts), slot_(window * window) {
  first_.resize(experts + 1);
  list_.resize(experts * experts);
  h_.resize(experts * experts);
  factor_.resize(experts * slot_);
  schur_.resize(experts * experts);
  means_.resize(experts);
  work_.resize(std::max(window, experts) * window + window * window);
  inner_.resize(window);
}

void RowNewton::list_supports(std::span<const double> columns) {
  const std::size_t n = experts_;
  std::fill(first_.begin(), first_.end(), 0);
  // Columns with one entry cannot move: they drop out, with 1 on the diagonal of the system.
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t support = 0;
    for (std::size_t i = 0; i < n; ++i) {
      support += columns[j * n + i] > 0 ? 1 : 0;
    }
    means_[j] = support > 1 ? 1 : 0;
    for (std::size_t i = 0; support > 1 && i < n; ++i) {
      first_[i + 1] += columns[j * n + i] > 0 ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    first_[i + 1] += first_[i];
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; means_[j] > 0 && i < n; ++i) {
      if (columns[j * n + i] > 0) {
        list_[first_[i]++] = j;
      }
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    first_[i + 1] = first_[i];
  }
  first_[0] = 0;
  std::fill(schur_.begin(), schur_.end(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    schur_[j * n + j] = means_[j] > 0 ? 0 : 1;
    means_[j] = 0;
  }
}

// Factors row i and adds its Z_i to the system.
void RowNewton::factor_row(std::size_t i, std::span<const double> gram, std::span<const double> u,
                           double scale) {
  const std::size_t* columns = &list_[first_[i]];
  const std::size_t s = first_[i + 1] - first_[i];
  double* l = &factor_[i * slot_];
  if (s <= k_) {
    for (std::size_t a = 0; a < s; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        l[a * s + b] = scale * gram[columns[a] * experts_ + columns[b]] + (a == b ? 1 : 0);
      }
    }
    cholesky(l, s);
    // work_ row c: column c of L^-1, from its diagonal on. Z = L^-T L^-1.
    for (std::size_t c = 0; c < s; ++c) {
      double* v = &work_[c * s];
      std::fill(v, v + s, 0.0);
      v[c] = 1 / l[c * s + c];
      for (std::size_t r = c + 1; r < s; ++r) {
        v[r] = -dot({l + r * s + c, r - c}, {v + c, r - c}) / l[r * s + r];
      }
    }
    for (std::size_t a = 0; a < s; ++a) {
      double* to = &schur_[columns[a] * experts_];
      for (std::size_t b = 0; b <= a; ++b) {
        to[columns[b]] += dot({&work_[a * s + a], s - a}, {&work_[b * s + a], s - a});
      }
    }
    return;
  }
  std::fill(l, l + k_ * k_, 0.0);
  for (std::size_t a = 0; a < k_; ++a) {
    l[a * k_ + a] = 1;
  }
  for (std::size_t c = 0; c < s; ++c) {
    const double* v = &u[columns[c] * k_];
    for (std::size_t a = 0; a < k_; ++a) {
      const double va = scale * v[a];
      for (std::size_t b = 0; b <= a; ++b) {
        l[a * k_ + b] += va * v[b];
      }
    }
  }
  cholesky(l, k_);
  for (std::size_t c = 0; c < s; ++c) {
    std::copy_n(&u[columns[c] * k_], k_, &work_[c * k_]);
    solve_lower(l, k_, &work_[c * k_]);
  }
  for (std::size_t a = 0; a < s; ++a) {
    double* to = &schur_[columns[a] * experts_];
    for (std::size_t b = 0; b <= a; ++b) {
      to[columns[b]] -= scale * dot({&work_[a * k_], k_}, {&work_[b * k_], k_});
    }
    to[columns[a]] += 1;
  }
}

// v = Z_i v.
void RowNewton::apply_row(std::size_t i, std::span<const double> u, double scale, double* v) {
  const std::size_t* columns = &list_[first_[i]];
  const std::size_t s = first_[i + 1] - first_[i];
  const double* l = &factor_[i * slot_];
  if (s <= k_) {
    solve_lower(l, s, v);
    solve_upper(l, s, v);
    return;
  }
  std::fill(inner_.begin(), inner_.end(), 0.0);
  for (std::size_t c = 0; c < s; ++c) {
    accumulate_rows({inner_.data(), k_}, &u[columns[c] * k_], v + c, 1);
  }
  solve_lower(l, k_, inner_.data());
  solve_upper(l, k_, inner_.data());
  for (std::size_t c = 0; c < s; ++c) {
    v[c] -= scale * dot({&u[columns[c] * k_], k_}, {inner_.data(), k_});
  }
}

void RowNewton::solve(std::span<const double> gram, std::span<const double> u, double scale,
                      std::span<const double> columns, std::span<double> g) {
  k_ = u.size() / experts_;
  CHECK(k_ * k_ <= slot_, "more samples than the window holds");
  const double root = std::sqrt(scale);
  list_supports(columns);
  for (std::size_t i = 0; i < experts_; ++i) {
    factor_row(i, gram, u, scale);
    for (std::size_t e = first_[i]; e < first_[i + 1]; ++e) {
      h_[e] = root * dot({&u[list_[e] * k_], k_}, {&g[i * k_], k_});
    }
    std::copy_n(&h_[first_[i]], first_[i + 1] - first_[i], work_.data());
    apply_row(i, u, scale, work_.data());
    for (std::size_t e = first_[i]; e < first_[i + 1]; ++e) {
      means_[list_[e]] += work_[e - first_[i]];
    }
  }
  cholesky(schur_.data(), experts_);
  solve_lower(schur_.data(), experts_, means_.data());
  solve_upper(schur_.data(), experts_, means_.data());
  for (std::size_t i = 0; i < experts_; ++i) {
    for (std::size_t e = first_[i]; e < first_[i + 1]; ++e) {
      h_[e] = means_[list_[e]] - h_[e];
    }
    apply_row(i, u, scale, &h_[first_[i]]);
    for (std::size_t e = first_[i]; e < first_[i + 1]; ++e) {
      const double amount = root * h_[e];
      accumulate_rows(g.subspan(i * k_, k_), &u[list_[e] * k_], &amount, 1);
    }
  }
}

}  // namespace mixnet::plan
