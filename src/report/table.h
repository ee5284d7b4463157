#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mixnet::report {

enum class Align { kLeft, kRight };

// Heading and alignment of a column. A unit belongs in the heading ("iteration (s)").
struct Column {
  std::string heading;
  Align align = Align::kRight;
};

// A plain-text table: a row of headings, a rule, rows; columns two spaces apart, no trailing
// spaces. Cells are UTF-8 without line breaks.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // One cell per column.
  void add_row(std::vector<std::string> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Every line ends with '\n'.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Terminal columns of UTF-8 text, one per code point: right for Latin and Greek letters and for
// mathematical signs, too small for East Asian wide characters.
std::size_t display_width(std::string_view text);

// Breaks `text` at spaces into lines of at most `width` columns (a longer word gets its own line);
// the second and later lines start with `indent` spaces. Every line ends with '\n'.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace mixnet::report
