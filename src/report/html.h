#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/comparison.h"

namespace mixnet::report {

// `report.html`: one self-contained page that loads nothing, under a content security policy that
// forbids it to. `result` is what comparison_json() made of the comparison; the page embeds it and
// draws its charts from it, so page and result.json cannot differ. `title` is plain text.
std::string report_html(const Comparison& comparison, const nlohmann::ordered_json& result,
                        const std::string& title);

// Plain text as HTML text or attribute value.
std::string html_escaped(std::string_view text);

// JSON that cannot end the <script> element it stands in: "<" only occurs inside strings, where
// \u003c means the same.
std::string script_safe(const nlohmann::ordered_json& json);

}  // namespace mixnet::report
