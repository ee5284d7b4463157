#include "report/sweep_html.h"

#include <fmt/format.h>

#include "report/page.h"
#include "report/web_assets.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;

// How many points there are, have a result, and failed.
std::string counts_text(const ordered_json& points) {
  std::size_t missing = 0;
  std::size_t failed = 0;
  for (const ordered_json& point : points) {
    missing += point.is_null() ? 1 : 0;
    failed += point.contains("error") ? 1 : 0;
  }
  std::string text = fmt::format("{} points", points.size());
  text += missing == 0 ? "" : fmt::format(", {} not simulated yet", missing);
  text += failed == 0 ? "" : fmt::format(", {} failed", failed);
  return text;
}

}  // namespace

std::string sweep_html(const ordered_json& sweep) {
  return filled(sweep_template(),
                {{"title", html_escaped(sweep.at("label").get<std::string>())},
                 {"style", report_style()},
                 {"counts", counts_text(sweep.at("points"))},
                 {"version", html_escaped(sweep.at("version").get<std::string>())},
                 {"data", script_safe(sweep)},
                 {"echarts", echarts_script()},
                 {"script", sweep_script()}});
}

}  // namespace mixnet::report
