#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace mixnet::scenario {

// Which expert every slot of every layer holds, from JSON as `mixnet place --json` prints it:
// {"layers": [{"phy2log": [5, 6, -1, ...]}, ...]}; other keys are ignored. Entries are the slots,
// GPU after GPU, -1 for an empty one; all layers have equally many. Errors name the layer and the
// entry; experts are 0 ... `experts` - 1.
Result<std::vector<std::vector<int>>> parse_expert_map(std::string_view text, int experts,
                                                       const std::string& file);

// The same for a file.
Result<std::vector<std::vector<int>>> read_expert_map(const std::string& path, int experts);

}  // namespace mixnet::scenario
