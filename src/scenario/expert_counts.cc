#include "scenario/expert_counts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "scenario/text_file.h"
#include "scenario/text_matrix.h"

namespace mixnet::scenario {
namespace {

constexpr std::size_t kFixedColumns = 4;  // model, corpus, layer, total_assignments

struct CountsRow {
  std::string model;
  std::string corpus;
  int64_t layer = 0;
  int line = 0;
  std::vector<uint32_t> counts;
};

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(comma + 1);
  }
}

// Lines that count: (text, number), without blank lines and comments.
std::vector<TextCell> lines_of(std::string_view text) {
  std::vector<TextCell> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!line.empty() && line.front() != '#') {
      lines.push_back(TextCell{line, number});
    }
  }
  return lines;
}

Result<int64_t> integer_of(const TextCell& cell, const char* column, const std::string& name) {
  int64_t value = 0;
  const char* const last = cell.text.data() + cell.text.size();
  const auto [end, code] = std::from_chars(cell.text.data(), last, value);
  if (end != last || code != std::errc() || value < 0) {
    return error_at(
        at_line(name, cell.line),
        fmt::format("{} = {} must be an integer of at least 0", column, excerpt(cell.text)));
  }
  return value;
}

Result<CountsRow> row_of(const TextCell& line, const std::string& name) {
  const std::vector<std::string_view> fields = fields_of(line.text);
  if (fields.size() <= kFixedColumns) {
    return error_at(at_line(name, line.line),
                    fmt::format("{} values; a row is {}", fields.size(), kExpertCountsHeader));
  }
  CountsRow row{std::string(fields[0]), std::string(fields[1]), 0, line.line, {}};
  const Result<int64_t> layer = integer_of({fields[2], line.line}, "layer", name);
  const Result<int64_t> total = integer_of({fields[3], line.line}, "total_assignments", name);
  if (!layer || !total) {
    return layer ? total.error() : layer.error();
  }
  row.layer = *layer;
  for (std::size_t i = kFixedColumns; i < fields.size(); ++i) {
    const Result<uint32_t> count = count_of({fields[i], line.line}, name);
    if (!count) {
      return count.error();
    }
    row.counts.push_back(*count);
  }
  const int64_t sum = std::accumulate(row.counts.begin(), row.counts.end(), int64_t{0});
  if (sum != *total) {
    return error_at(at_line(name, line.line),
                    fmt::format("the counts sum to {}, but total_assignments is {}", sum, *total));
  }
  return row;
}

// The rows of the wanted model, in the order of the file.
Result<std::vector<CountsRow>> rows_of_model(std::string_view text, const std::string& name,
                                             const std::string& model) {
  const std::vector<TextCell> lines = lines_of(text);
  if (lines.empty() || lines.front().text != kExpertCountsHeader) {
    return error_at(name, fmt::format("the first line must be {}", kExpertCountsHeader));
  }
  std::vector<CountsRow> rows;
  std::set<std::string> models;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Result<CountsRow> row = row_of(lines[i], name);
    if (!row) {
      return row.error();
    }
    models.insert(row->model);
    if (model.empty() || row->model == model) {
      rows.push_back(std::move(*row));
    }
  }
  if (models.empty()) {
    return error_at(name, "the file has no rows of counts");
  }
  if (rows.empty() || (model.empty() && models.size() > 1)) {
    return error_at(name, fmt::format("choose one of its models: {}", fmt::join(models, ", ")));
  }
  return rows;
}

}  // namespace

bool has_expert_counts_header(std::string_view text) {
  const std::vector<TextCell> lines = lines_of(text);
  return !lines.empty() && lines.front().text == kExpertCountsHeader;
}

Result<RoutingTrace> parse_expert_counts(std::string_view text, const std::string& name,
                                         const std::string& model) {
  const Result<std::vector<CountsRow>> rows = rows_of_model(text, name, model);
  if (!rows) {
    return rows.error();
  }
  std::vector<std::string> corpora;
  std::map<std::pair<int64_t, std::string>, const CountsRow*> by_cell;
  std::set<int64_t> layers;
  const std::size_t experts = rows->front().counts.size();
  for (const CountsRow& row : *rows) {
    if (row.counts.size() != experts) {
      return error_at(at_line(name, row.line),
                      fmt::format("this row has {} counts, the rows of {} before it have {}",
                                  row.counts.size(), row.model, experts));
    }
    if (std::find(corpora.begin(), corpora.end(), row.corpus) == corpora.end()) {
      corpora.push_back(row.corpus);
    }
    layers.insert(row.layer);
    if (!by_cell.insert({{row.layer, row.corpus}, &row}).second) {
      return error_at(at_line(name, row.line), fmt::format("corpus {}, layer {} appears twice",
                                                           excerpt(row.corpus), row.layer));
    }
  }
  std::vector<uint32_t> counts;
  for (const int64_t layer : layers) {
    for (const std::string& corpus : corpora) {
      const auto found = by_cell.find({layer, corpus});
      if (found == by_cell.end()) {
        return error_at(name, fmt::format("{} has no row for corpus {}, layer {}",
                                          rows->front().model, excerpt(corpus), layer));
      }
      const std::vector<uint32_t>& row = found->second->counts;
      counts.insert(counts.end(), row.begin(), row.end());
    }
  }
  TraceInfo info;
  info.model = rows->front().model;
  info.source_kind = fmt::format("corpus: {}", fmt::join(corpora, ", "));
  info.iteration_kind = "whole corpus";
  info.origin = fmt::format("expert counts of layers {}", fmt::join(layers, ", "));
  return RoutingTrace::from_counts(std::move(counts), 1, static_cast<int64_t>(layers.size()),
                                   static_cast<int64_t>(corpora.size()),
                                   static_cast<int64_t>(experts), std::move(info));
}

}  // namespace mixnet::scenario
