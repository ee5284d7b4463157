#include "scenario/text_matrix.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// Calls visit(line text without its end, line number) until it returns false.
template <typename Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (!visit(text.substr(0, end), line) || end == std::string_view::npos) {
      return;
    }
    text.remove_prefix(end + 1);
  }
}

// Appends a finished row; fails if its length differs from the rows before it.
Status add_row(TextMatrix& matrix, const std::vector<TextCell>& row, int line,
               const std::string& name) {
  if (row.empty()) {
    return error_at(at_line(name, line), "the row is empty");
  }
  if (matrix.rows > 0 && row.size() != matrix.cols) {
    return error_at(
        at_line(name, line),
        fmt::format("this row has {} values, the rows before it have {}", row.size(), matrix.cols));
  }
  matrix.cols = row.size();
  ++matrix.rows;
  matrix.cells.insert(matrix.cells.end(), row.begin(), row.end());
  return Status();
}

// Cells of one line: separated by commas with optional blanks, or by blanks alone.
Result<std::vector<TextCell>> split(std::string_view text, int line, const std::string& name) {
  std::vector<TextCell> cells;
  std::size_t at = 0;
  for (;;) {
    const std::size_t first = text.find_first_not_of(" \t\r", at);
    const std::size_t end =
        first == std::string_view::npos ? text.size() : text.find_first_of(" \t\r,", first);
    const std::string_view cell =
        first == std::string_view::npos ? std::string_view() : text.substr(first, end - first);
    if (cell.empty()) {
      return error_at(at_line(name, line), "a value is missing beside a comma");
    }
    cells.push_back(TextCell{cell, line});
    const std::size_t next = text.find_first_not_of(" \t\r", end);
    if (end == std::string_view::npos || next == std::string_view::npos) {
      return cells;
    }
    at = text[next] == ',' ? next + 1 : next;
  }
}

Result<std::vector<TextMatrix>> parse_rows(std::string_view text, const std::string& name) {
  std::vector<TextMatrix> matrices(1);
  Status status;
  for_each_line(text, [&](std::string_view content, int line) {
    content = trimmed(content.substr(0, content.find('#')));
    if (content.empty()) {
      return true;
    }
    const Result<std::vector<TextCell>> row = split(content, line, name);
    status = row ? add_row(matrices.front(), *row, line, name) : Status(row.error());
    return status.ok();
  });
  if (!status) {
    return status.error();
  }
  if (matrices.front().rows == 0) {
    return error_at(name, "there is no matrix in the file");
  }
  return matrices;
}

// Reads [[1,2],[3,4]] [[5,6],[7,8]] ... A comma may stand between values, rows and matrices.
class BracketReader {
 public:
  BracketReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<std::vector<TextMatrix>> read() {
    std::vector<TextMatrix> matrices;
    while (skip_to_token()) {
      TextMatrix matrix;
      const Status status = read_matrix(matrix);
      if (!status) {
        return status.error();
      }
      matrices.push_back(std::move(matrix));
      accept_comma();
    }
    return matrices;
  }

 private:
  Status read_matrix(TextMatrix& matrix) {
    if (!accept('[')) {
      return problem("expected [[, the start of a matrix");
    }
    do {
      if (!accept('[')) {
        return problem("expected [, the start of a row");
      }
      std::vector<TextCell> row;
      const Status status = read_row(row);
      const Status added = status ? add_row(matrix, row, line_, name_) : status;
      if (!added) {
        return added.error();
      }
      accept_comma();
    } while (!accept(']'));
    return Status();
  }

  Status read_row(std::vector<TextCell>& row) {
    while (!accept(']')) {
      const std::size_t end = text_.find_first_of("[], \t\r\n", at_);
      const std::string_view cell = text_.substr(at_, end - at_);
      if (cell.empty()) {
        return problem("expected a value or ]");
      }
      row.push_back(TextCell{cell, line_});
      at_ += cell.size();
      if (accept_comma() && skip_to_token() && text_[at_] == ']') {
        return problem("a value is missing beside a comma");
      }
    }
    return Status();
  }

  // Skips white space and comments. False at the end of the text.
  bool skip_to_token() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
      } else if (c == '#') {
        const std::size_t end = text_.find('\n', at_);
        at_ = end == std::string_view::npos ? text_.size() : end;
        continue;
      } else if (!is_blank(c)) {
        return true;
      }
      ++at_;
    }
    return false;
  }

  bool accept(char c) {
    if (!skip_to_token() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  bool accept_comma() { return accept(','); }

  Error problem(const char* message) {
    const bool more = skip_to_token();
    return error_at(at_line(name_, line_),
                    fmt::format("{}, found {}", message,
                                more ? excerpt(text_.substr(at_, 1)) : "the end of the file"));
  }

  std::string_view text_;
  const std::string& name_;  // outlives the reader
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

bool is_bracketed(std::string_view text) {
  bool bracketed = false;
  for_each_line(text, [&](std::string_view content, int) {
    content = trimmed(content);
    if (content.empty() || content.front() == '#') {
      return true;
    }
    bracketed = content.front() == '[';
    return false;
  });
  return bracketed;
}

Result<std::vector<TextMatrix>> parse_text_matrices(std::string_view text,
                                                    const std::string& name) {
  return is_bracketed(text) ? BracketReader(text, name).read() : parse_rows(text, name);
}

Result<uint32_t> count_of(const TextCell& cell, const std::string& name) {
  uint32_t value = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, code] = std::from_chars(cell.text.data(), last, value);
  if (end == last && code == std::errc()) {
    return value;
  }
  const Result<double> number = amount_of(cell, name);
  if (!number) {
    return number.error();
  }
  return error_at(at_line(name, cell.line),
                  fmt::format("{} must be an integer of 0 to {}, a number of tokens",
                              excerpt(cell.text), UINT32_MAX));
}

Result<double> amount_of(const TextCell& cell, const std::string& name) {
  double value = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, code] = std::from_chars(cell.text.data(), last, value);
  if (end != last || code == std::errc::invalid_argument || std::isnan(value)) {
    return error_at(at_line(name, cell.line),
                    fmt::format("{} is not a number", excerpt(cell.text)));
  }
  if (code == std::errc::result_out_of_range || std::isinf(value)) {
    return error_at(at_line(name, cell.line),
                    fmt::format("{} is out of range", excerpt(cell.text)));
  }
  if (std::signbit(value) && value != 0) {
    return error_at(at_line(name, cell.line),
                    fmt::format("{} is negative; an amount is at least 0", excerpt(cell.text)));
  }
  return value == 0 ? 0.0 : value;
}

}  // namespace mixnet::scenario
