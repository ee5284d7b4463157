#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"

namespace mixnet {

// Dense row-major matrix. Element (r, c) is row r, column c.
template <typename T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t cols, T fill = T{})
      : rows_(rows), cols_(cols), cells_(rows * cols, fill) {}

  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  bool empty() const { return cells_.empty(); }

  T& operator()(std::size_t r, std::size_t c) { return cells_[r * cols_ + c]; }
  const T& operator()(std::size_t r, std::size_t c) const { return cells_[r * cols_ + c]; }

  std::span<T> row(std::size_t r) { return {cells_.data() + r * cols_, cols_}; }
  std::span<const T> row(std::size_t r) const { return {cells_.data() + r * cols_, cols_}; }
  std::span<const T> cells() const { return cells_; }
  std::span<T> cells() { return cells_; }

  bool operator==(const Matrix&) const = default;

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<T> cells_;
};

// Traffic demand: (i, j) is what i sends to j, in tokens or bytes as the context says. The
// diagonal is local traffic.
using DemandMatrix = Matrix<double>;

template <typename T>
Matrix<T> transposed(const Matrix<T>& m) {
  Matrix<T> t(m.cols(), m.rows());
  for (std::size_t r = 0; r < m.rows(); ++r) {
    for (std::size_t c = 0; c < m.cols(); ++c) {
      t(c, r) = m(r, c);
    }
  }
  return t;
}

}  // namespace mixnet
