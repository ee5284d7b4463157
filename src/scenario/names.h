#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Suggestions for misspelt names.
namespace mixnet::scenario {

// Insertions, deletions and substitutions of one character that turn `a` into `b` (Levenshtein).
// O(|a| * |b|) time.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidates that `name` was most likely meant to be, best first, at most three: those that
// contain it or that are within a third of its length in edit distance. Ties keep their order.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& candidates);

// "`a`, `b` or `c`".
std::string quoted_list(const std::vector<std::string>& names, std::string_view last = "or");

// "unknown KIND `NAME`: did you mean `x`? Known: ..." with the whole list if nothing is near.
std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& candidates);

}  // namespace mixnet::scenario
