#include "scenario/matrix_file.h"

#include <fmt/format.h>

#include <vector>

#include "scenario/text_file.h"
#include "scenario/text_matrix.h"

namespace mixnet::scenario {

Result<DemandMatrix> parse_matrix(std::string_view text, const std::string& name) {
  const Result<std::vector<TextMatrix>> parsed = parse_text_matrices(text, name);
  if (!parsed) {
    return parsed.error();
  }
  if (parsed->size() != 1) {
    return error_at(at_line(name, (*parsed)[1].cells.front().line),
                    "a second matrix starts here; give a file with one matrix");
  }
  const TextMatrix& cells = parsed->front();
  if (cells.rows > kMaxMatrixRows) {
    return error_at(name, fmt::format("the matrix has {} rows; at most {} can be read", cells.rows,
                                      kMaxMatrixRows));
  }
  if (cells.rows != cells.cols) {
    return error_at(at_line(name, cells.cells.back().line),
                    fmt::format("the matrix has {} rows of {} values, but must be square: one row "
                                "and one column per server",
                                cells.rows, cells.cols));
  }
  DemandMatrix matrix(cells.rows, cells.cols);
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    const Result<double> value = amount_of(cells.cells[i], name);
    if (!value) {
      return value.error();
    }
    matrix.cells()[i] = *value;
  }
  return matrix;
}

Result<DemandMatrix> read_matrix(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  return parse_matrix(*text, path);
}

}  // namespace mixnet::scenario
