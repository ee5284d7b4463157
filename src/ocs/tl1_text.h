#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

// Small text helpers of the TL1 code. White space is blank, tab and CR: lines end at LF.
namespace mixnet::ocs {

// By hand, as all searches here: those of string_view search the set once per byte.
inline bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r'; }
// How many bytes come before the first white space.
std::size_t word_length(std::string_view text);

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_white(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_white(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// ASCII letters of either case are equal.
bool equal_ignoring_case(std::string_view a, std::string_view b);
bool contains_ignoring_case(std::string_view text, std::string_view part);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c);

// Up to `limit` words separated by white space; the last one is the trimmed rest of the text.
std::vector<std::string_view> words(std::string_view text, std::size_t limit);

// The parts of `text` between separators, at least one.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace mixnet::ocs
