#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Parts of self-contained HTML pages.
namespace mixnet::report {

using PageParts = std::map<std::string, std::string, std::less<>>;

// Replaces every {{key}} of the template, once: what is inserted is not searched again.
std::string filled(std::string_view page, const PageParts& parts);

// Plain text as HTML text or attribute value.
std::string html_escaped(std::string_view text);

// JSON that cannot end the <script> element it stands in: "<" only occurs inside strings, where
// \u003c means the same.
std::string script_safe(const nlohmann::ordered_json& json);

}  // namespace mixnet::report
