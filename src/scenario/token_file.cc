#include "scenario/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include "scenario/text_file.h"
#include "scenario/text_matrix.h"

namespace mixnet::scenario {
namespace {

// `what` is the column's name in messages; `least` .. `count` - 1 are taken.
Result<int> index_of(const TextCell& cell, const char* what, int least, int count,
                     const std::string& name) {
  int value = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, code] = std::from_chars(cell.text.data(), last, value);
  if (end != last || code != std::errc() || value < least || value >= count) {
    return error_at(at_line(name, cell.line),
                    fmt::format("{} {} must be a whole number from {} to {}", what,
                                excerpt(cell.text), least, count - 1));
  }
  return value;
}

}  // namespace

Result<RoutedTokens> parse_tokens(std::string_view text, const std::string& name,
                                  const TokenLimits& limits) {
  const Result<std::vector<TextMatrix>> matrices = parse_text_matrices(text, name);
  if (!matrices.ok()) {
    return matrices.error();
  }
  const TextMatrix& rows = matrices->front();
  if (matrices->size() > 1 || rows.cols < 2) {
    return error_at(at_line(name, rows.cells.front().line),
                    "a token is one line: its rank, then the experts that it picked, like "
                    "`0, 17, 4, 201`");
  }
  if (limits.top_k > 0 && rows.cols != static_cast<std::size_t>(limits.top_k) + 1) {
    return error_at(at_line(name, rows.cells.front().line),
                    fmt::format("a token picks {} experts here, and the model has top-k {}: give "
                                "the rank and then {} experts, -1 for each slot without one",
                                rows.cols - 1, limits.top_k, limits.top_k));
  }
  RoutedTokens tokens;
  tokens.top_k = static_cast<int>(rows.cols) - 1;
  tokens.source.reserve(rows.rows);
  tokens.experts.reserve(rows.rows * (rows.cols - 1));
  for (std::size_t i = 0; i < rows.cells.size(); ++i) {
    const bool rank = i % rows.cols == 0;
    const Result<int> value = rank ? index_of(rows.cells[i], "rank", 0, limits.ranks, name)
                                   : index_of(rows.cells[i], "expert", -1, limits.experts, name);
    if (!value.ok()) {
      return value.error();
    }
    const auto picked =
        tokens.experts.end() - (rank ? 0 : static_cast<std::ptrdiff_t>(i % rows.cols) - 1);
    if (*value >= 0 && std::find(picked, tokens.experts.end(), *value) != tokens.experts.end()) {
      return error_at(
          at_line(name, rows.cells[i].line),
          fmt::format("the token picks expert {} twice: name every expert once", *value));
    }
    (rank ? tokens.source : tokens.experts).push_back(*value);
  }
  return tokens;
}

Result<RoutedTokens> read_token_file(const std::string& path, const TokenLimits& limits) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  return parse_tokens(*text, path, limits);
}

}  // namespace mixnet::scenario
