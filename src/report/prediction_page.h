#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mixnet::report {

// One self-contained page that loads nothing: the scores of load predictors, as bars over all
// layers and as lines per layer. `result` is the JSON object of `mixnet predict`; the page embeds
// it and draws from it. `title` is plain text.
std::string prediction_html(const nlohmann::ordered_json& result, const std::string& title);

}  // namespace mixnet::report
