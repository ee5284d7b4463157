#include "report/data_page.h"

#include "report/page.h"
#include "report/web_assets.h"

namespace mixnet::report {
namespace {

constexpr const char* kPageHead =
    R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
)";

constexpr const char* kPageSetup =
    R"(const data = JSON.parse(document.getElementById("data").textContent);
function chart(id, option) {
  const box = document.getElementById(id);
  box.style.height = "300px";
  const drawn = echarts.init(box, null, {renderer: "svg"});
  drawn.setOption({animation: false, tooltip: {trigger: "axis"}, legend: {top: 0},
                   grid: {left: 60, right: 20, top: 40, bottom: 45}, ...option});
  addEventListener("resize", () => drawn.resize());
}
)";

}  // namespace

std::string data_page(const DataPage& page, const nlohmann::ordered_json& data) {
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n";
  html += kPageHead;
  html += "<title>" + html_escaped(page.title) + "</title>\n<style>\n" + report_style();
  html += "\n</style>\n</head>\n<body>\n<header><p class=\"product\">";
  html += page.product;
  html += "</p><h1>" + html_escaped(page.title) + "</h1></header>\n";
  html += page.body;
  html += "<script type=\"application/json\" id=\"data\">" + script_safe(data) + "</script>\n";
  html += "<script>" + echarts_script() + "</script>\n<script>\n" + kPageSetup + page.script;
  return html + "</script>\n</body>\n</html>\n";
}

}  // namespace mixnet::report
