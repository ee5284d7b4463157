#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

// The two spellings of a matrix of numbers in text, cut into cells that still point into it:
//
//   rows, one per line, cells separated by blanks or commas:   1 2 3
//                                                              4, 5, 6
//   bracketed, any white space between the parts:              [[1,2,3],[4,5,6]]
//
// Lines that are blank or start with # are skipped. A text of rows is one matrix; a bracketed text
// is one matrix after the other.
namespace mixnet::scenario {

struct TextCell {
  std::string_view text;
  int line = 0;  // from 1
};

struct TextMatrix {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<TextCell> cells;  // row-major
};

// Does the text use brackets? (Its first character that is no blank or comment is a bracket.)
bool is_bracketed(std::string_view text);

// At least one matrix, each with at least one cell and rows of equal length. `text` outlives the
// result; `name` goes into the errors, which name the line.
Result<std::vector<TextMatrix>> parse_text_matrices(std::string_view text, const std::string& name);

// The cell as a count of 0 to 2^32 - 1. Errors: not an integer, negative, too large.
Result<uint32_t> count_of(const TextCell& cell, const std::string& name);

// The cell as a finite number >= 0, decimal or with exponent.
Result<double> amount_of(const TextCell& cell, const std::string& name);

}  // namespace mixnet::scenario
