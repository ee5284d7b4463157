#pragma once

#include <toml++/toml.h>

#include <string>

#include "core/result.h"

namespace mixnet::scenario {

// Sets what "table.key=value" says in `root`, replacing what is there. A value that is not TOML is
// taken as text, so that `cluster.nic_rate=100Gbps` needs no quotes.
Status apply_override(toml::table& root, const std::string& entry);

}  // namespace mixnet::scenario
