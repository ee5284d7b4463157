#include "report/table.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace mixnet::report {
namespace {

constexpr std::size_t kGap = 2;

std::string line_of(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                    const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line.append(c == 0 ? 0 : kGap, ' ');
    const std::string padding(widths[c] - display_width(cells[c]), ' ');
    line += columns[c].align == Align::kLeft ? cells[c] + padding : padding + cells[c];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::size_t display_width(std::string_view text) {
  // A code point is one leading byte and any number of continuation bytes 10xxxxxx.
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  CHECK(!columns_.empty(), "a table has columns");
}

void Table::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size(), "one cell per column");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> headings;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    headings.push_back(columns_[c].heading);
    widths.push_back(display_width(columns_[c].heading));
    for (const std::vector<std::string>& row : rows_) {
      widths[c] = std::max(widths[c], display_width(row[c]));
    }
  }
  std::vector<std::string> rule;
  for (const std::size_t width : widths) {
    rule.push_back(std::string(width, '-'));
  }
  std::string text = line_of(headings, columns_, widths) + line_of(rule, columns_, widths);
  for (const std::vector<std::string>& row : rows_) {
    text += line_of(row, columns_, widths);
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const bool first_word = line.find_first_not_of(' ') == std::string::npos;
    if (!first_word && display_width(line) + 1 + display_width(word) > width) {
      lines += line + '\n';
      line = std::string(indent, ' ') + std::string(word);
      continue;
    }
    line += (first_word ? "" : " ") + std::string(word);
  }
  return lines + line + '\n';
}

}  // namespace mixnet::report
