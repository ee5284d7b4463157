#include "report/replay_page.h"

#include "report/data_page.h"

namespace mixnet::report {
namespace {

constexpr const char* kReplayBody =
    R"(<main>
<noscript><p class="empty">The charts need JavaScript; every figure is in replay.json.</p>
</noscript>
<section><h2>Imbalance in every iteration</h2>
<p class="caption" id="setting"></p><p class="caption" id="swaps"></p>
<div id="iterations" class="chart"></div></section>
<section><h2>Imbalance by age of the plan</h2>
<p class="caption">Mean over all plans, by iterations since the plan; 1 is perfect balance.</p>
<div id="ages" class="chart"></div></section>
</main>
)";

constexpr const char* kReplayScript =
    R"(document.getElementById("setting").textContent = "Most tokens of a GPU over the mean, " +
  `averaged over layers. ${data.plans} plans, one every ${data.every} iterations (dashed lines), ` +
  `from the counts since the one before; ${data.moved} experts moved after the first. On average ` +
  `${data.mean.contiguous.toFixed(3)} in order, ${data.mean.planned.toFixed(3)} planned, ` +
  `${data.mean.swapped.toFixed(3)} with swaps.`;
const cost = data.swap_cost;
document.getElementById("swaps").textContent = `${data.swaps} swaps taken; one must lower the ` +
  `heavier GPU of its pair by ${data.threshold} tokens` + (cost ? `: t_swap = ` +
  `${cost.swap_time_us.toPrecision(4)} µs (${(cost.expert_bytes / 1e6).toPrecision(4)} MB at ` +
  `${cost.rate_gbps / 8} GB/s) over t_tok = ${cost.token_time_us.toPrecision(4)} µs` : "") +
  ". The time of moves and swaps is not part of these ratios.";
const names = {contiguous: "experts in order", planned: "planned", swapped: "with swaps per step"};
const axis = name => ({type: "value", name, nameLocation: "middle", nameGap: 28, min: "dataMin",
                       max: "dataMax", splitLine: {show: false}});
const ratio = {type: "value", scale: true, name: "GPU max / mean", nameLocation: "middle",
               nameGap: 42};
const lines = points => Object.keys(names).map(key => ({name: names[key], type: "line",
  showSymbol: false, data: points.map(p => [p.x, p[key]])}));
const plans = data.iterations.filter(p => p.age === 0).map(p => ({xAxis: p.iteration}));
const series = lines(data.iterations.map(p => ({x: p.iteration, ...p})));
series[0].markLine = {symbol: "none", silent: true, label: {show: false},
                      lineStyle: {type: "dashed", color: "#666"}, data: plans};
chart("iterations", {xAxis: axis("iteration"), yAxis: ratio, series});
const ages = new Map();
for (const p of data.iterations) {
  const sum = ages.get(p.age) ?? {x: p.age, n: 0, contiguous: 0, planned: 0, swapped: 0};
  for (const key of Object.keys(names)) sum[key] += p[key];
  sum.n += 1;
  ages.set(p.age, sum);
}
const means = [...ages.values()].sort((a, b) => a.x - b.x).map(s => ({x: s.x,
  contiguous: s.contiguous / s.n, planned: s.planned / s.n, swapped: s.swapped / s.n}));
chart("ages", {xAxis: axis("iterations since the plan"), yAxis: ratio,
               series: lines(means)});
)";

}  // namespace

std::string replay_html(const nlohmann::ordered_json& result, const std::string& title) {
  return data_page({"MixNet placement replay", title, kReplayBody, kReplayScript}, result);
}

}  // namespace mixnet::report
