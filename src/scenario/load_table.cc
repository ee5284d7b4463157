#include "scenario/load_table.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "scenario/expert_counts.h"
#include "scenario/text_file.h"
#include "scenario/text_matrix.h"

namespace mixnet::scenario {
namespace {

Result<int64_t> load_of(const TextCell& cell, const std::string& name) {
  int64_t value = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, code] = std::from_chars(cell.text.data(), last, value);
  if (end != last || code != std::errc() || value < 0) {
    return error_at(at_line(name, cell.line),
                    fmt::format("{} must be an integer of 0 to {}, the tokens of an expert",
                                excerpt(cell.text), INT64_MAX));
  }
  return value;
}

}  // namespace

Result<Matrix<int64_t>> parse_loads(std::string_view text, const std::string& name) {
  if (has_expert_counts_header(text)) {
    return error_at(at_line(name, 1),
                    "this is a table of counts with models and corpora: make a trace of it first "
                    "(mixnet trace import), or keep the columns of counts only");
  }
  const Result<std::vector<TextMatrix>> parsed = parse_text_matrices(text, name);
  if (!parsed) {
    return parsed.error();
  }
  if (parsed->size() != 1) {
    return error_at(at_line(name, (*parsed)[1].cells.front().line),
                    "a second table starts here; give a file with one, a layer per line");
  }
  const TextMatrix& cells = parsed->front();
  Matrix<int64_t> loads(cells.rows, cells.cols);
  for (std::size_t i = 0; i < cells.cells.size(); ++i) {
    const Result<int64_t> value = load_of(cells.cells[i], name);
    if (!value) {
      return value.error();
    }
    loads.cells()[i] = *value;
  }
  return loads;
}

Result<Matrix<int64_t>> read_loads(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  return parse_loads(*text, path);
}

}  // namespace mixnet::scenario
