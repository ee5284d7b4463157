#pragma once

#include <string>
#include <string_view>

#include "core/deployment.h"
#include "core/result.h"

// The deployment file of `mixnet policy`: one TOML file with the model, the GPUs and NICs, the
// expert-parallel size and the batch sizes (docs/overlap.md).
namespace mixnet::scenario {

// Reads and checks a deployment file. Errors name the file, the line and what to write instead.
Result<Deployment> read_deployment(const std::string& path);

// The same from text; `file` is named in errors, and paths in it are relative to its folder.
Result<Deployment> parse_deployment(std::string_view text, const std::string& file);

}  // namespace mixnet::scenario
