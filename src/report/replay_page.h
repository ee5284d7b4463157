#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mixnet::report {

// One self-contained page that loads nothing: how a periodic placement ages on a trace, as the
// imbalance of every iteration and as its mean by the age of the plan. `result` is the JSON object
// of `mixnet place --replay`. `title` is plain text.
std::string replay_html(const nlohmann::ordered_json& result, const std::string& title);

}  // namespace mixnet::report
