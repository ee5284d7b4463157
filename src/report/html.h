#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/comparison.h"

namespace mixnet::report {

// `report.html`: one self-contained page that loads nothing, under a content security policy that
// forbids it to. `result` is what comparison_json() made of the comparison; the page embeds it and
// draws its charts from it, so page and result.json cannot differ. `title` is plain text.
std::string report_html(const Comparison& comparison, const nlohmann::ordered_json& result,
                        const std::string& title);

}  // namespace mixnet::report
