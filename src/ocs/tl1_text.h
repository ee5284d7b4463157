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

std::string_view trimmed(std::string_view text);

// ASCII letters of either case are equal.
bool equal_ignoring_case(std::string_view a, std::string_view b);
bool contains_ignoring_case(std::string_view text, std::string_view part);

bool is_digit(char c);
bool is_letter(char c);

// Up to `limit` words separated by white space; the last one is the trimmed rest of the text.
std::vector<std::string_view> words(std::string_view text, std::size_t limit);

// The parts of `text` between separators, at least one.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace mixnet::ocs
