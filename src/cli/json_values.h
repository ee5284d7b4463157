#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/matrix.h"

namespace mixnet::cli {

// JSON has no infinity.
inline nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// A matrix as an array of its rows.
template <typename T>
nlohmann::ordered_json rows_of(const Matrix<T>& matrix) {
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    const auto row = matrix.row(i);
    rows.push_back(std::vector<T>(row.begin(), row.end()));
  }
  return rows;
}

}  // namespace mixnet::cli
