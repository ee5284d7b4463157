#include "report/html.h"

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "report/comparison_table.h"
#include "report/verdict.h"
#include "report/web_assets.h"

namespace mixnet::report {
namespace {

using Parts = std::map<std::string, std::string, std::less<>>;

// Replaces every {{key}} of the template, once: what is inserted is not searched again.
std::string filled(std::string_view page, const Parts& parts) {
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

std::string row_html(const std::vector<std::string>& cells, std::string_view tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    html.append("<").append(tag).append(">");
    html += html_escaped(cell);
    html.append("</").append(tag).append(">");
  }
  return html + "</tr>\n";
}

std::string table_html(const Table& table) {
  std::vector<std::string> headings;
  for (const Column& column : table.columns()) {
    headings.push_back(column.heading);
  }
  std::string html = "<table>\n<thead>" + row_html(headings, "th") + "</thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows()) {
    html += row_html(row, "td");
  }
  return html + "</tbody>\n</table>";
}

std::string verdict_html(const Comparison& comparison) {
  std::string html;
  for (const std::string& sentence : verdict(comparison)) {
    html += "<p class=\"verdict\">" + html_escaped(sentence) + "</p>\n";
  }
  return html;
}

std::string notes_html(const std::vector<std::string>& notes) {
  if (notes.empty()) {
    return "<p class=\"empty\">No notes.</p>";
  }
  std::string html = "<ul>\n";
  for (const std::string& note : notes) {
    html += "<li>" + html_escaped(note) + "</li>\n";
  }
  return html + "</ul>";
}

// How switching and iterations go over time, if there is anything to show.
std::string over_time_html(const Comparison& comparison) {
  std::string html;
  if (!comparison.fabrics.empty() && comparison.fabrics.front().iterations.size() > 1) {
    html +=
        "<section>\n<h2>Iteration by iteration</h2>\n<p class=\"caption\">Time of every simulated "
        "iteration. The dashed line is the ideal network's.</p>\n"
        "<div id=\"series\" class=\"chart\"></div>\n</section>\n";
  }
  if (has_switching(comparison)) {
    html +=
        "<section>\n<h2>What switching costs</h2>\n<p class=\"caption\">Exposed time per iteration "
        "by its cause: the optical switch, NICs that link again, the control loop, and what "
        "all-to-alls lose on detours around dark circuits.</p>\n"
        "<div id=\"causes\" class=\"chart\"></div>\n<div class=\"scroll\">\n" +
        table_html(switching_table(comparison)) + "\n</div>\n</section>\n";
  }
  return html;
}

// JSON that cannot end the <script> element it stands in: "<" only occurs inside strings, where
// \u003c means the same.
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

}  // namespace

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

std::string report_html(const Comparison& comparison, const nlohmann::ordered_json& result,
                        const std::string& title) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  return filled(report_template(),
                {{"title", html_escaped(title)},
                 {"style", report_style()},
                 {"headline", table_html(headline_table(comparison))},
                 {"bound", bound_text(comparison)},
                 {"verdict", verdict_html(comparison)},
                 {"over_time", over_time_html(comparison)},
                 {"notes", notes_html(comparison.notes)},
                 {"config", html_escaped(result.at("config").dump(2, ' ', false, replace))},
                 {"version", html_escaped(result.at("version").get<std::string>())},
                 {"data", script_safe(result)},
                 {"echarts", echarts_script()},
                 {"script", report_script()}});
}

}  // namespace mixnet::report
