#include "report/replay_page.h"

#include "report/data_page.h"

namespace mixnet::report {
namespace {

constexpr const char* kReplayBody =
    R"(<main>
<noscript><p class="empty">The charts need JavaScript; every figure is in replay.json.</p>
</noscript>
<section><h2>Imbalance in every iteration</h2>
<p class="caption" id="setting"></p><div id="iterations" class="chart"></div></section>
<section><h2>Imbalance by age of the plan</h2>
<p class="caption">Mean over all plans, by iterations since the plan; 1 is perfect balance.</p>
<div id="ages" class="chart"></div></section>
</main>
)";

constexpr const char* kReplayScript =
    R"(document.getElementById("setting").textContent = "Most tokens of a GPU over the mean, " +
  `averaged over layers. ${data.plans} plans, one every ${data.every} iterations (dotted lines), ` +
  `from the counts since the one before; ${data.moved} experts moved after the first, ` +
  `${data.swaps} swaps taken. The time of moves and swaps is not counted.`;
const names = {contiguous: "experts in order", planned: "planned", swapped: "with swaps per step"};
const axis = name => ({type: "value", name, nameLocation: "middle", nameGap: 28, min: "dataMin",
                       max: "dataMax"});
const lines = points => Object.keys(names).map(key => ({name: names[key], type: "line",
  showSymbol: false, data: points.map(p => [p.x, p[key]])}));
const plans = data.iterations.filter(p => p.age === 0).map(p => ({xAxis: p.iteration}));
const series = lines(data.iterations.map(p => ({x: p.iteration, ...p})));
series[0].markLine = {symbol: "none", silent: true, label: {show: false},
                      lineStyle: {type: "dotted", color: "#888"}, data: plans};
chart("iterations", {xAxis: axis("iteration"), yAxis: {type: "value", scale: true}, series});
const ages = new Map();
for (const p of data.iterations) {
  const sum = ages.get(p.age) ?? {x: p.age, n: 0, contiguous: 0, planned: 0, swapped: 0};
  for (const key of Object.keys(names)) sum[key] += p[key];
  sum.n += 1;
  ages.set(p.age, sum);
}
const means = [...ages.values()].sort((a, b) => a.x - b.x).map(s => ({x: s.x,
  contiguous: s.contiguous / s.n, planned: s.planned / s.n, swapped: s.swapped / s.n}));
chart("ages", {xAxis: axis("iterations since the plan"), yAxis: {type: "value", scale: true},
               series: lines(means)});
)";

}  // namespace

std::string replay_html(const nlohmann::ordered_json& result, const std::string& title) {
  return data_page({"MixNet placement replay", title, kReplayBody, kReplayScript}, result);
}

}  // namespace mixnet::report
