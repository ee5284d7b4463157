#include "report/prediction_page.h"

#include "report/data_page.h"

namespace mixnet::report {
namespace {

constexpr const char* kPredictionBody =
    R"(<main>
<noscript><p class="empty">The charts need JavaScript; every figure is in prediction.json.</p>
</noscript>
<section><h2>All layers</h2>
<p class="caption" id="setting"></p><div id="means" class="chart"></div></section>
<section><h2>Top-k accuracy by layer</h2>
<p class="caption">Share of the most loaded experts that were predicted; higher is better.</p>
<div id="top_k_accuracy" class="chart"></div></section>
<section><h2>Load error by layer</h2>
<p class="caption">Share of the load predicted at the wrong expert; lower is better.</p>
<div id="load_error" class="chart"></div></section>
<section><h2>All-to-all ratio by layer</h2>
<p class="caption">Dispatch time with circuits wired for the prediction over circuits wired for the
truth; 1 is best.</p>
<div id="all_to_all_ratio" class="chart"></div></section>
</main>
)";

constexpr const char* kPredictionScript =
    R"(document.getElementById("setting").textContent = `${data.iterations} iterations, ` +
  `${data.layers} layers, ${data.sources} sources, ${data.experts} experts; ` +
  `top-${data.top_k}, window ${data.window}, ${data.servers} servers with ${data.alpha} ` +
  `optical and ${data.eps} electrical NICs.`;
const names = {top_k_accuracy: "top-k accuracy", load_error: "load error",
               all_to_all_ratio: "all-to-all ratio"};
chart("means", {
  xAxis: {type: "category", data: data.predictors.map(p => p.predictor)}, yAxis: {type: "value"},
  series: Object.keys(names).map(key => ({name: names[key], type: "bar",
    label: {show: true, position: "top", formatter: v => v.value == null ? "" : v.value.toFixed(2)},
    data: data.predictors.map(p => p[key])}))});
for (const key of Object.keys(names)) {
  chart(key, {
    xAxis: {type: "category", name: "MoE layer", nameLocation: "middle", nameGap: 28,
            data: data.predictors[0].layers.map(l => l.layer)},
    yAxis: {type: "value", scale: true},
    series: data.predictors.map(p => ({name: p.predictor, type: "line",
      data: p.layers.map(l => l[key])}))});
}
)";

}  // namespace

std::string prediction_html(const nlohmann::ordered_json& result, const std::string& title) {
  return data_page({"MixNet load prediction", title, kPredictionBody, kPredictionScript}, result);
}

}  // namespace mixnet::report
