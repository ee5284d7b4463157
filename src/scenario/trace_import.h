#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

// How a text file becomes a trace [iteration, layer, source, expert]. Counts are taken as they are:
// nothing is wrapped, tiled or rescaled, and rows = sources need not equal columns = experts.
//   kMatrix        one matrix, one row per line: 1 iteration, 1 layer
//   kBracketed     matrices [[..],[..]] one after the other, all of one size; each is one layer, or
//                  one iteration of one layer if `matrices` says so
//   kExpertCounts  CSV with the header model,corpus,layer,total_assignments,counts... and one row
//                  per (model, corpus, layer), as published for OLMoE: the rows of one model give 1
//                  iteration; its corpora are the sources, in the order in which they appear; its
//                  layers the layers, ascending. Every corpus must have every layer, once.
//   kAuto          by the first line: a bracket, that header, or else kMatrix
// In all of them blank lines and lines that start with # are skipped.
enum class ImportFormat { kAuto, kMatrix, kBracketed, kExpertCounts };
enum class MatricesAre { kLayers, kIterations };

struct ImportOptions {
  ImportFormat format = ImportFormat::kAuto;
  MatricesAre matrices = MatricesAre::kLayers;
  // kExpertCounts: whose rows; may be empty if the file has one model. Else only a name.
  std::string model{};
  // Experts per token; 0 = unknown, otherwise checked against the counts.
  int top_k = 0;
};

// "auto", "matrix", "bracketed", "expert-counts"; the error lists them.
Result<ImportFormat> parse_import_format(const std::string& name);

// Errors name file and line: unreadable or empty file, ragged rows or matrices of several sizes,
// values that are no uint32 count, a sum that differs from total_assignments, a missing or repeated
// (corpus, layer), no or an unknown model, and counts that `top_k` rules out: a source that sends n
// assignments has n / top_k tokens, and no expert gets more than one assignment per token.
Result<RoutingTrace> import_trace(const std::string& path, const ImportOptions& options);

// The same for a text; `name` stands for the file in the errors and in TraceInfo::origin.
Result<RoutingTrace> import_text(std::string_view text, const std::string& name,
                                 const ImportOptions& options);

}  // namespace mixnet::scenario
