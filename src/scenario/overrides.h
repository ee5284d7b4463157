#pragma once

#include <toml++/toml.h>

#include <string>

#include "core/result.h"
#include "scenario/override.h"

namespace mixnet::scenario {

// Sets what the entry says in `root`, replacing what is there. A value that is not TOML is taken as
// text, so that `cluster.nic_rate=100Gbps` needs no quotes. `fabric.LABEL.key=value` sets the key
// of the one [[fabric]] of that label, or of that name if it has no label.
Status apply_override(toml::table& root, const Override& setting);

}  // namespace mixnet::scenario
