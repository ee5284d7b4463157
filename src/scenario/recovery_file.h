#pragma once

#include <string>
#include <string_view>

#include "core/recovery.h"
#include "core/result.h"

namespace mixnet::scenario {

// Reads a deployment for `mixnet recover`: TOML with [deployment], [cache] and [costs];
// docs/recovery.md explains the keys. Without `placement`, slot s of every layer holds expert
// s modulo `experts`. Errors have file and line.
Result<RecoveryProblem> read_recovery_file(const std::string& path);

// The same for text; `path` is for messages, and `placement` is relative to its folder.
Result<RecoveryProblem> parse_recovery_file(std::string_view text, const std::string& path);

}  // namespace mixnet::scenario
