#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

// First line, after comments, of the CSV that parse_expert_counts() reads.
inline constexpr std::string_view kExpertCountsHeader =
    "model,corpus,layer,total_assignments,counts...";

// Is that the first line of the text?
bool has_expert_counts_header(std::string_view text);

// The rows of `model` as a trace; ImportFormat::kExpertCounts in trace_import.h has the mapping and
// the errors. `model` may be empty if the file holds only one.
Result<RoutingTrace> parse_expert_counts(std::string_view text, const std::string& name,
                                         const std::string& model);

}  // namespace mixnet::scenario
