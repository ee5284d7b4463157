#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace mixnet::scenario {

// The whole content of a text input, a file or a pipe, without a byte order mark. Errors name the
// path; more than 1 GiB is refused, because a text of that size is a wrong path and not a scenario,
// matrix or table.
Result<std::string> read_text_file(const std::string& path);

// "name:line", the `where` of an Error.
std::string at_line(const std::string& name, int line);

// At most 40 characters of `text`, quoted, with control bytes replaced: input can be named in an
// error message without garbling the terminal.
std::string excerpt(std::string_view text);

}  // namespace mixnet::scenario
