#pragma once

#include <string>
#include <string_view>

#include "core/matrix.h"
#include "core/result.h"

namespace mixnet::scenario {

// Rows of the largest demand matrix that is read.
inline constexpr std::size_t kMaxMatrixRows = 4096;

// Reads a demand matrix: element (i, j) is what server i sends to server j, in bytes or tokens.
// Text with one row per line (numbers >= 0 separated by blanks or commas) or bracketed,
// [[..],[..]]; see text_matrix.h. Errors (with file and line): unreadable, empty, ragged or not
// square, more than one matrix, more than kMaxMatrixRows rows, and values that are no number,
// negative or not finite.
Result<DemandMatrix> read_matrix(const std::string& path);

// The same for a text; `name` stands for the file in the errors.
Result<DemandMatrix> parse_matrix(std::string_view text, const std::string& name);

}  // namespace mixnet::scenario
