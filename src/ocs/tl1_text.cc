#include "ocs/tl1_text.h"

#include <algorithm>

namespace mixnet::ocs {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t word_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && !is_white(text[length])) {
    ++length;
  }
  return length;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char x, char y) { return lower(x) == lower(y); }) != text.end();
}

bool is_letter(char c) {
  const char l = lower(c);
  return l >= 'a' && l <= 'z';
}

std::vector<std::string_view> words(std::string_view text, std::size_t limit) {
  std::vector<std::string_view> result;
  result.reserve(4);  // as many as the lines between texts have
  text = trimmed(text);
  while (!text.empty()) {
    const std::size_t end = word_length(text);
    if (result.size() + 1 == limit || end == text.size()) {
      result.push_back(text);
      break;
    }
    result.push_back(text.substr(0, end));
    text = trimmed(text.substr(end));
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace mixnet::ocs
