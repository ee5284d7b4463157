#include "report/html.h"

#include <string_view>
#include <vector>

#include "report/comparison_table.h"
#include "report/page.h"
#include "report/verdict.h"
#include "report/web_assets.h"

namespace mixnet::report {
namespace {

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

}  // namespace

std::string report_html(const Comparison& comparison, const nlohmann::ordered_json& result,
                        const std::string& title) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  return filled(report_template(),
                {{"title", html_escaped(title)},
                 {"style", report_style()},
                 {"headline", table_html(headline_table(comparison))},
                 {"bound", bound_text(comparison)},
                 {"verdict", verdict_html(comparison)},
                 {"notes", notes_html(comparison.notes)},
                 {"config", html_escaped(result.at("config").dump(2, ' ', false, replace))},
                 {"version", html_escaped(result.at("version").get<std::string>())},
                 {"data", script_safe(result)},
                 {"echarts", echarts_script()},
                 {"script", report_script()}});
}

}  // namespace mixnet::report
