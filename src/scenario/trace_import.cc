#include "scenario/trace_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "scenario/expert_counts.h"
#include "scenario/text_file.h"
#include "scenario/text_matrix.h"

namespace mixnet::scenario {
namespace {

struct FormatName {
  ImportFormat format;
  const char* name;
};
constexpr FormatName kFormats[] = {{ImportFormat::kAuto, "auto"},
                                   {ImportFormat::kMatrix, "matrix"},
                                   {ImportFormat::kBracketed, "bracketed"},
                                   {ImportFormat::kExpertCounts, "expert-counts"}};

ImportFormat detected(std::string_view text) {
  if (is_bracketed(text)) {
    return ImportFormat::kBracketed;
  }
  return has_expert_counts_header(text) ? ImportFormat::kExpertCounts : ImportFormat::kMatrix;
}

Result<RoutingTrace> import_matrices(std::string_view text, const std::string& name,
                                     const ImportOptions& options) {
  if (options.format != ImportFormat::kAuto &&
      is_bracketed(text) != (options.format == ImportFormat::kBracketed)) {
    return error_at(name, is_bracketed(text)
                              ? "the file starts with a bracket; import it as bracketed"
                              : "the file does not start with a bracket; import it as matrix");
  }
  const Result<std::vector<TextMatrix>> matrices = parse_text_matrices(text, name);
  if (!matrices) {
    return matrices.error();
  }
  const TextMatrix& first = matrices->front();
  std::vector<uint32_t> counts;
  for (const TextMatrix& matrix : *matrices) {
    if (matrix.rows != first.rows || matrix.cols != first.cols) {
      return error_at(at_line(name, matrix.cells.front().line),
                      fmt::format("this matrix is {} x {}, the first one {} x {}", matrix.rows,
                                  matrix.cols, first.rows, first.cols));
    }
    for (const TextCell& cell : matrix.cells) {
      const Result<uint32_t> count = count_of(cell, name);
      if (!count) {
        return count.error();
      }
      counts.push_back(*count);
    }
  }
  const auto steps = static_cast<int64_t>(matrices->size());
  const bool layers = options.matrices == MatricesAre::kLayers;
  TraceInfo info;
  info.model = options.model;
  info.source_kind = "ep-rank";
  info.iteration_kind = "iteration";
  info.origin = "matrix text";
  return RoutingTrace::from_counts(std::move(counts), layers ? 1 : steps, layers ? steps : 1,
                                   static_cast<int64_t>(first.rows),
                                   static_cast<int64_t>(first.cols), std::move(info));
}

// No source sends more to an expert than it has tokens.
Status check_top_k(const RoutingTrace& trace, int top_k, const std::string& name) {
  const RoutingView& view = trace.view();
  if (top_k < 1 || top_k > view.experts) {
    return error_at(name, fmt::format("top-k = {} is out of range; it may be 1 to {}, the number "
                                      "of experts",
                                      top_k, view.experts));
  }
  for (int64_t row = 0; row < view.iterations * view.layers * view.sources; ++row) {
    const int64_t source = row % view.sources;
    const int64_t layer = row / view.sources % view.layers;
    const auto counts = view.row(row / view.sources / view.layers, layer, source);
    const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const int64_t largest = *std::max_element(counts.begin(), counts.end());
    if (sum % top_k != 0 || largest > sum / top_k) {
      return error_at(
          name, fmt::format("top-k {} does not fit source {} of layer {} (from 0): its "
                            "{} assignments would be {} tokens, the largest count is "
                            "{}; leave top-k out if it is unknown",
                            top_k, source, layer, sum,
                            fmt::format("{:.6g}", static_cast<double>(sum) / top_k), largest));
    }
  }
  return Status();
}

}  // namespace

Result<ImportFormat> parse_import_format(const std::string& name) {
  for (const FormatName& known : kFormats) {
    if (name == known.name) {
      return known.format;
    }
  }
  return Error{
      fmt::format("unknown format \"{}\"; write auto, matrix, bracketed or expert-counts", name),
      ""};
}

Result<RoutingTrace> import_text(std::string_view text, const std::string& name,
                                 const ImportOptions& options) {
  const ImportFormat format =
      options.format == ImportFormat::kAuto ? detected(text) : options.format;
  const Result<RoutingTrace> trace = format == ImportFormat::kExpertCounts
                                         ? parse_expert_counts(text, name, options.model)
                                         : import_matrices(text, name, options);
  if (!trace) {
    return trace.error();
  }
  if (options.top_k != 0) {
    const Status fits = check_top_k(*trace, options.top_k, name);
    if (!fits) {
      return fits.error();
    }
  }
  TraceInfo info = trace->info();
  info.top_k = options.top_k;
  info.origin = fmt::format("imported from {}: {}", name.substr(name.rfind('/') + 1), info.origin);
  return trace->with_info(std::move(info));
}

Result<RoutingTrace> import_trace(const std::string& path, const ImportOptions& options) {
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  return import_text(*text, path, options);
}

}  // namespace mixnet::scenario
