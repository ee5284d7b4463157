#include "report/page.h"

#include "core/check.h"

namespace mixnet::report {

std::string filled(std::string_view page, const PageParts& parts) {
  std::string text;
  for (std::size_t at = 0;;) {
    const std::size_t open = page.find("{{", at);
    text += page.substr(at, open - at);
    if (open == std::string_view::npos) {
      return text;
    }
    const std::size_t close = page.find("}}", open);
    CHECK(close != std::string_view::npos, "a placeholder ends");
    const auto part = parts.find(page.substr(open + 2, close - open - 2));
    CHECK(part != parts.end(), "a placeholder is known");
    text += part->second;
    at = close + 2;
  }
}

std::string script_safe(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char byte : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (byte == '<') {
      text += "\\u003c";
    } else {
      text += byte;
    }
  }
  return text;
}

std::string html_escaped(std::string_view text) {
  std::string html;
  for (const char byte : text) {
    switch (byte) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += byte;
    }
  }
  return html;
}

}  // namespace mixnet::report
