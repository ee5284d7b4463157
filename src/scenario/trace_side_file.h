#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "scenario/trace.h"

// The JSON side file of a trace: one object with the fields of TraceInfo, all optional, and
// `shape`, four integers. The shape ties the file to its array: after one of the two was replaced,
// the pair is refused instead of being read with the wrong meaning.
namespace mixnet::scenario {

// PATH with a final ".npy" replaced by ".json".
std::string side_file_path(const std::string& trace_path);

std::string format_side_file(const TraceInfo& info, const TraceShape& shape);

// Errors: no JSON object, unknown key, wrong type, another shape than `shape`.
Result<TraceInfo> parse_side_file(std::string_view text, const TraceShape& shape,
                                  const std::string& name);

// The same for a file. A file that does not exist gives an empty TraceInfo.
Result<TraceInfo> read_side_file(const std::string& path, const TraceShape& shape);

// Is there nothing at `path`, or a side file of some trace? Anything else must not be overwritten.
Status check_replaceable(const std::string& path);

}  // namespace mixnet::scenario
