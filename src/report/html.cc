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
  if (has_placement(comparison)) {
    html += "<section>\n<h2>Where the experts stand</h2>\n<p class=\"caption\">" +
            html_escaped(kPlacementCaption) + "</p>\n<div class=\"scroll\">\n" +
            table_html(placement_table(comparison)) + "\n</div>\n</section>\n";
  }
  return html;
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
                 {"over_time", over_time_html(comparison)},
                 {"notes", notes_html(comparison.notes)},
                 {"config", html_escaped(result.at("config").dump(2, ' ', false, replace))},
                 {"version", html_escaped(result.at("version").get<std::string>())},
                 {"data", script_safe(result)},
                 {"echarts", echarts_script()},
                 {"script", report_script()}});
}

}  // namespace mixnet::report
