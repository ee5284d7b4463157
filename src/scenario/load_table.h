#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/matrix.h"
#include "core/result.h"

namespace mixnet::scenario {

// Reads expert loads: one layer per line, one count of 0 to 2^63 - 1 per expert, separated by
// commas or blanks; lines that start with # are comments. Returns [layers, E]. Errors name file and
// line: unreadable, empty, lines of different lengths, and values that are no such count.
Result<Matrix<int64_t>> read_loads(const std::string& path);
Result<Matrix<int64_t>> parse_loads(std::string_view text, const std::string& name);

}  // namespace mixnet::scenario
