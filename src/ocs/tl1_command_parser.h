#pragma once

#include <string_view>

#include "core/result.h"
#include "ocs/tl1_message.h"

namespace mixnet::ocs {

// Reads one command as a switch does, with or without its ";". Takes what encode() refuses, such
// as DLT-PATCH for everything: a switch obeys. White space around the command is ignored.
// Error: "Parse error at offset N in command", N from 1, at the first character that fits nowhere.
Result<Command> parse_command(std::string_view text);

}  // namespace mixnet::ocs
