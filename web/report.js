// Draws the charts of report.html from the JSON in #data, which equals result.json.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const fabrics = data.fabrics;
  const names = fabrics.map((fabric) => fabric.name);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const byId = (id) => document.getElementById(id);

  // Colours after Paul Tol's schemes for colour-blind readers; compute is cool, networks are warm.
  const ACTIVITY_COLOURS = {
    'attention': '#66ccee',
    'gate': '#44bb99',
    'expert': '#4477aa',
    'add-norm': '#99ddff',
    'dense': '#228833',
    'tensor-parallel': '#aaaa00',
    'all-to-all': '#ee6677',
    'switching': '#aa3377',
    'pipeline': '#ffaabb',
    'gradient': '#eedd88',
  };
  const TRAFFIC = [
    {name: 'tensor (NVLink)', colour: '#aaaa00', of: (t) => t.tensor},
    {name: 'expert, inside servers', colour: '#66ccee', of: (t) => t.expert - t.expert_network},
    {name: 'expert, between servers', colour: '#ee6677', of: (t) => t.expert_network},
    {name: 'pipeline', colour: '#ffaabb', of: (t) => t.pipeline},
    {name: 'gradient', colour: '#eedd88', of: (t) => t.gradient},
  ];
  const CAUSES = [
    {key: 'ocs', name: 'optical switch', colour: '#aa3377'},
    {key: 'nic', name: 'NICs linking', colour: '#ee6677'},
    {key: 'control', name: 'control loop', colour: '#ccbb44'},
    {key: 'detour', name: 'detours', colour: '#4477aa'},
  ];
  const LINES = ['#4477aa', '#ee6677', '#228833', '#ccbb44', '#66ccee', '#aa3377', '#ee7733',
                 '#009988', '#882255', '#999933'];
  const LOG_ABOVE = 5;  // longest over shortest iteration from which the axis is logarithmic
  const HEAT_LIGHT = ['#f2f6fa', '#c3d9ec', '#6aaad6', '#2270b3', '#0a346b'];
  const HEAT_DARK = ['#212a35', '#1f4a73', '#3182bd', '#94c4df', '#f2f8fc'];
  const LABELLED_CELLS = 10;  // servers up to which a cell shows its number

  const number = (value, digits = 4) => {
    if (value === null || !Number.isFinite(value)) return '-';
    if (value === 0) return '0';
    const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
    return value.toFixed(Math.max(0, digits - 1 - exponent));
  };
  const round = (value) => String(Number(number(value, 3)));  // for the ticks of an axis
  const scaled = (value, units, digits = 4) => {
    const [size, unit] = units.find(([s]) => Math.abs(value) >= s) || units[units.length - 1];
    return (digits === 'axis' ? round(value / size) : number(value / size, digits)) + unit;
  };
  const ratio = (value) => (value < 10 ? value.toFixed(3) : number(value)) + '×';
  const seconds = (s, digits) => (s === 0 ? '0 s'
    : scaled(s, [[1, ' s'], [1e-3, ' ms'], [1e-6, ' µs'], [1e-9, ' ns']], digits));
  const bytes = (b, digits) => scaled(b, [[1e15, ' PB'], [1e12, ' TB'], [1e9, ' GB'], [1e6, ' MB'],
                                          [1e3, ' kB'], [1, ' B']], digits);
  const usd = (d, digits) => '$' + scaled(d, [[1e6, 'M'], [1e3, 'k'], [1, '']], digits);
  const tokens = (t) => (t < 1000 ? number(t, 3) : scaled(t, [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']], 3));
  const percent = (share) => (100 * share).toFixed(1) + ' %';
  const text = (s) => s.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const dot = (colour) => '<span style="display:inline-block;width:10px;height:10px;' +
    `border-radius:2px;margin-right:6px;background:${colour}"></span>`;
  const tipRow = (colour, name, value) => '<tr><td style="font-weight:400;border:0;padding:1px 14px 1px 0">' +
    `${dot(colour)}${text(name)}</td><td style="border:0;padding:1px 0">${value}</td></tr>`;
  const tip = (heading, rows) => `<b>${text(heading)}</b><table>${rows.join('')}</table>`;

  const ink = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return {page: get('--page'), card: get('--card'), ink: get('--ink'), quiet: get('--quiet'),
            line: get('--line'), accent: get('--accent'), heat: dark.matches ? HEAT_DARK : HEAT_LIGHT};
  };

  const charts = new Map();
  const draw = (id, height, option, renderer = 'svg') => {
    const box = byId(id);
    if (height) box.style.height = height + 'px';
    if (!charts.has(id)) charts.set(id, echarts.init(box, null, {renderer}));
    const colours = ink();
    charts.get(id).resize();
    charts.get(id).setOption({
      animation: false,
      backgroundColor: 'transparent',
      aria: {enabled: true},
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: colours.ink},
      ...option,
      tooltip: {confine: true, backgroundColor: colours.card, borderColor: colours.line,
                textStyle: {color: colours.ink, fontSize: 13}, ...option.tooltip},
    }, true);
  };
  const drawNothing = (id, why) => {
    if (charts.has(id)) charts.get(id).dispose();
    charts.delete(id);
    const note = document.createElement('p');
    note.className = 'empty';
    note.textContent = why;
    byId(id).style.height = '';
    byId(id).replaceChildren(note);
  };

  const narrow = (id) => byId(id).clientWidth < 520;
  // Text is measured in the page, whose fonts the charts use too.
  const ruler = document.createElement('span');
  ruler.style.cssText = 'position:absolute;visibility:hidden;white-space:nowrap;font-size:13px';
  document.body.append(ruler);
  const textWidth = (label) => {
    ruler.textContent = label;
    return ruler.getBoundingClientRect().width;
  };
  const nameRoom = (id, labels) => Math.ceil(Math.min(
    Math.max(...labels.map(textWidth)), byId(id).clientWidth * 0.4, 200)) + 14;
  const categories = (id, labels, colours) => ({
    type: 'category',
    data: labels,
    inverse: true,
    axisTick: {show: false},
    axisLine: {lineStyle: {color: colours.line}},
    axisLabel: {color: colours.ink, fontSize: 13, width: nameRoom(id, labels) - 12,
                overflow: 'truncate'},
  });
  const valueAxis = (colours, format, extra = {}) => ({
    type: 'value',
    axisLabel: {color: colours.quiet, formatter: format, hideOverlap: true},
    splitLine: {lineStyle: {color: colours.line}},
    ...extra,
  });
  const legend = (labels, colours) => ({
    type: 'plain', left: 0, top: 0, data: labels, itemWidth: 14, itemHeight: 10, itemGap: 14,
    textStyle: {color: colours.ink}, inactiveColor: colours.line,
  });
  // Height of a legend whose entries wrap, each with a mark, two gaps and its text.
  const legendHeight = (id, labels) => {
    const width = byId(id).clientWidth;
    let rows = 1;
    let used = 0;
    for (const label of labels) {
      const entry = textWidth(label) + 34;
      if (used + entry > width) {
        rows += 1;
        used = 0;
      }
      used += entry;
    }
    return 22 * rows + 8;
  };
  const stackedBar = (name, colour, values, colours) => ({
    name, type: 'bar', stack: 'all', barMaxWidth: 26, data: values,
    itemStyle: {color: colour, borderColor: colours.card, borderWidth: 0.6},
    emphasis: {focus: 'series'},
  });
  // An empty bar at the end of a stack that carries the label of the whole.
  const stackEnd = (labels, colours) => ({
    name: 'total', type: 'bar', stack: 'all', data: labels.map(() => 0), tooltip: {show: false},
    label: {show: true, position: 'right', color: colours.ink, fontSize: 12,
            formatter: (p) => labels[p.dataIndex]},
  });

  // A fabric that is many times slower than the others would press their bars to nothing, so its
  // bar is cut: drawn a quarter longer than the longest of the others and labelled as cut.
  const CUT_ABOVE = 4;
  const drawnLengths = () => {
    const fastest = Math.min(...fabrics.map((fabric) => fabric.iteration_s));
    const longest = Math.max(...fabrics.map((fabric) => fabric.iteration_s)
      .filter((time) => time <= CUT_ABOVE * fastest));
    return fabrics.map((fabric) => Math.min(fabric.iteration_s, 1.25 * longest));
  };

  const drawIteration = () => {
    const colours = ink();
    const drawn = drawnLengths();
    const isCut = (i) => drawn[i] < fabrics[i].iteration_s;
    const used = Object.keys(ACTIVITY_COLOURS).filter((activity) =>
      fabrics.some((fabric) => fabric.critical_path_s[activity] > 0));
    const total = stackEnd(fabrics.map((fabric, i) =>
      seconds(fabric.iteration_s) + (isCut(i) ? ' \u2215\u2215 bar cut' : '')), colours);
    if (data.bound_s > 0) {
      total.markLine = {
        symbol: 'none', silent: true, data: [{xAxis: data.bound_s}],
        lineStyle: {color: colours.ink, type: 'dashed', width: 1.5},
        label: {formatter: 'bound ' + seconds(data.bound_s), color: colours.ink, position: 'start',
                distance: 4},
      };
    }
    const top = legendHeight('iteration', used) + 20;
    draw('iteration', top + 34 * fabrics.length + 28, {
      grid: {left: nameRoom('iteration', names), right: fabrics.some((f, i) => isCut(i)) ? 130 : 70,
             top, bottom: 26},
      legend: legend(used, colours),
      xAxis: valueAxis(colours, (v) => seconds(v, 'axis'), {splitNumber: narrow('iteration') ? 3 : 6}),
      yAxis: categories('iteration', names, colours),
      series: used.map((activity) => stackedBar(
        activity, ACTIVITY_COLOURS[activity],
        fabrics.map((fabric, i) => fabric.critical_path_s[activity] * (
          isCut(i) ? drawn[i] / fabric.iteration_s : 1)), colours)).concat(total),
      tooltip: {trigger: 'axis', axisPointer: {type: 'shadow'}, formatter: (points) => {
        const fabric = fabrics[points[0].dataIndex];
        const rows = used.filter((a) => fabric.critical_path_s[a] > 0).map((a) => tipRow(
          ACTIVITY_COLOURS[a], a,
          `${seconds(fabric.critical_path_s[a])} (${percent(fabric.critical_path_s[a] / fabric.iteration_s)})`));
        const above = fabric.bound_ratio === null ? '' : `, ${ratio(fabric.bound_ratio)} the bound`;
        return tip(`${fabric.name}: ${seconds(fabric.iteration_s)}${above}`, rows);
      }},
    });
  };

  const drawSeries = () => {
    if (!byId('series')) return;
    const colours = ink();
    const bound = data.bound_series_s;
    const all = fabrics.flatMap((fabric) => fabric.series.iteration_s).concat(bound);
    const shortest = Math.min(...all);
    const log = shortest > 0 && Math.max(...all) > LOG_ABOVE * shortest;
    const top = legendHeight('series', names) + 14;
    const line = (name, values, style) => ({
      name, type: 'line', data: values, showSymbol: values.length < 60, symbolSize: 5, ...style});
    draw('series', top + 300, {
      grid: {left: 70, right: 20, top, bottom: 46},
      legend: legend(names, colours),
      xAxis: {type: 'category', data: bound.map((_, i) => i + 1), name: 'iteration',
              nameLocation: 'middle', nameGap: 28, nameTextStyle: {color: colours.quiet},
              axisLine: {lineStyle: {color: colours.line}}, axisLabel: {color: colours.quiet}},
      yAxis: valueAxis(colours, (v) => seconds(v, 'axis'),
                       log ? {type: 'log', min: shortest * 0.9} : {scale: true}),
      series: fabrics.map((fabric, i) => line(fabric.name, fabric.series.iteration_s, {
        itemStyle: {color: LINES[i % LINES.length]}, lineStyle: {width: 1.8}})).concat(
        line('ideal', bound, {symbol: 'none', itemStyle: {color: colours.ink},
                              lineStyle: {type: 'dashed', width: 1.5}})),
      tooltip: {trigger: 'axis', formatter: (points) => tip(`iteration ${points[0].axisValue}`,
        points.map((p) => tipRow(p.color, p.seriesName, seconds(p.value))))},
    });
  };

  const drawCauses = () => {
    if (!byId('causes')) return;
    const switched = fabrics.filter((fabric) => fabric.exposed_switching_s > 0);
    if (switched.length === 0) {
      drawNothing('causes', 'No fabric waited for circuits.');
      return;
    }
    const colours = ink();
    const labels = switched.map((fabric) => fabric.name);
    // A bar that dwarfs the next one is cut, as in the chart of iterations.
    const sorted = switched.map((fabric) => fabric.exposed_switching_s).sort((a, b) => b - a);
    const largest = sorted.length > 1 && sorted[0] > CUT_ABOVE * sorted[1]
      ? 1.25 * sorted[1] : sorted[0];
    const isCut = (fabric) => fabric.exposed_switching_s > largest;
    const drawn = (fabric, cause) => fabric.exposed_by_cause_s[cause.key] * (
      isCut(fabric) ? largest / fabric.exposed_switching_s : 1);
    const used = CAUSES.map((cause) => cause.name);
    const top = legendHeight('causes', used) + 4;
    draw('causes', top + 34 * switched.length + 28, {
      grid: {left: nameRoom('causes', labels), right: switched.some(isCut) ? 130 : 74, top,
             bottom: 26},
      legend: legend(used, colours),
      xAxis: valueAxis(colours, (v) => seconds(v, 'axis'), {splitNumber: narrow('causes') ? 3 : 6}),
      yAxis: categories('causes', labels, colours),
      series: CAUSES.map((cause) => stackedBar(
        cause.name, cause.colour, switched.map((fabric) => drawn(fabric, cause)), colours)).concat(
        stackEnd(switched.map((fabric) => seconds(fabric.exposed_switching_s) +
          (isCut(fabric) ? ' \u2215\u2215 bar cut' : '')), colours)),
      tooltip: {trigger: 'axis', axisPointer: {type: 'shadow'}, formatter: (points) => {
        const fabric = switched[points[0].dataIndex];
        return tip(`${fabric.name}: ${seconds(fabric.exposed_switching_s)}`, CAUSES.map((cause) =>
          tipRow(cause.colour, cause.name, seconds(fabric.exposed_by_cause_s[cause.key]))));
      }},
    });
  };

  const drawBars = (id, key, format, axis) => {
    if (!fabrics.some((fabric) => fabric[key] > 0)) {
      drawNothing(id, 'Nothing to show: the figure is zero or unknown for every fabric.');
      return;
    }
    const colours = ink();
    const label = (i) => (fabrics[i][key] === null ? 'unknown' : format(fabrics[i][key]));
    draw(id, 30 * fabrics.length + 30, {
      grid: {left: nameRoom(id, names), right: 64, top: 4, bottom: 26},
      xAxis: valueAxis(colours, axis, {splitNumber: 2}),
      yAxis: categories(id, names, colours),
      series: [{
        type: 'bar', barMaxWidth: 20, data: fabrics.map((fabric) => fabric[key] || 0),
        itemStyle: {color: dark.matches ? '#5a9bd4' : '#4477aa'},
        label: {show: true, position: 'right', color: colours.ink, fontSize: 12,
                formatter: (p) => label(p.dataIndex)},
      }],
      tooltip: {trigger: 'item', formatter: (p) => `<b>${text(p.name)}</b><br>${label(p.dataIndex)}`},
    });
  };

  // Fabrics usually carry the same bytes: one bar per different set of them.
  const drawTraffic = () => {
    const rows = [];
    for (const fabric of fabrics) {
      const values = TRAFFIC.map((kind) => kind.of(fabric.traffic_bytes));
      const same = rows.find((row) => row.values.every((value, i) => value === values[i]));
      if (same) same.names.push(fabric.name);
      else rows.push({values, names: [fabric.name], total: values.reduce((a, b) => a + b, 0)});
    }
    if (!rows.some((row) => row.total > 0)) {
      drawNothing('traffic', 'No bytes were sent.');
      return;
    }
    const colours = ink();
    const label = (row) => (row.names.length === fabrics.length && fabrics.length > 1
      ? 'every fabric' : row.names.join(', '));
    const top = legendHeight('traffic', TRAFFIC.map((kind) => kind.name));
    draw('traffic', top + 46 * rows.length + 28, {
      grid: {left: nameRoom('traffic', rows.map(label)), right: 74, top, bottom: 26},
      legend: legend(TRAFFIC.map((kind) => kind.name), colours),
      xAxis: valueAxis(colours, (v) => bytes(v, 'axis'), {splitNumber: narrow('traffic') ? 3 : 6}),
      yAxis: categories('traffic', rows.map(label), colours),
      series: TRAFFIC.map((kind, k) => ({
        ...stackedBar(kind.name, kind.colour, rows.map((row) => row.values[k]), colours),
        barMaxWidth: 34,
        label: {show: true, color: '#1c2430', fontSize: 12, formatter: (p) => {
          const share = p.value / rows[p.dataIndex].total;
          return share < (narrow('traffic') ? 0.14 : 0.06) ? '' : percent(share);
        }},
      })).concat(stackEnd(rows.map((row) => bytes(row.total)), colours)),
      tooltip: {trigger: 'axis', axisPointer: {type: 'shadow'}, formatter: (points) => {
        const row = rows[points[0].dataIndex];
        return tip(`${label(row)}: ${bytes(row.total)}`, TRAFFIC.map((kind, k) => tipRow(
          kind.colour, kind.name, `${bytes(row.values[k])} (${percent(row.values[k] / row.total)})`)));
      }},
    });
  };

  const drawHeat = (id, matrix, what) => {
    const n = matrix.length;
    const cells = [];
    let largest = 0;
    matrix.forEach((row, from) => row.forEach((value, to) => {
      if (from !== to) largest = Math.max(largest, value);
      cells.push([to, from, from === to ? null : value]);
    }));
    if (n === 0 || largest === 0) {
      drawNothing(id, what.none);
      return;
    }
    const colours = ink();
    const onDark = (value) => (value > largest / 2) !== dark.matches;
    const axis = (name) => ({
      type: 'category', data: matrix.map((_, i) => i), name, nameLocation: 'middle',
      nameTextStyle: {color: colours.quiet}, axisTick: {show: false},
      axisLine: {lineStyle: {color: colours.line}}, axisLabel: {color: colours.quiet},
      splitArea: {show: false},
    });
    const side = Math.min(byId(id).clientWidth, 560);
    draw(id, side + 20, {
      grid: {left: 46, right: 8, top: 8, bottom: 92},
      xAxis: {...axis(what.to), nameGap: 26},
      yAxis: {...axis(what.from), inverse: true, nameGap: 28},
      visualMap: {min: 0, max: largest, calculable: n > 1, orient: 'horizontal', left: 'center',
                  bottom: 0, itemHeight: Math.min(180, side - 160), itemWidth: 14,
                  formatter: what.format,
                  textStyle: {color: colours.quiet}, inRange: {color: colours.heat}},
      series: [{
        type: 'heatmap', data: cells.filter((cell) => cell[2] !== null),
        itemStyle: {borderColor: colours.card, borderWidth: n > 40 ? 0 : 1},
        label: {show: n <= LABELLED_CELLS, fontSize: 11.5, formatter: (p) => what.format(p.value[2])},
        emphasis: {itemStyle: {borderColor: colours.ink, borderWidth: 1}},
      }],
      tooltip: {formatter: (p) => what.sentence(p.value[1], p.value[0], p.value[2])},
    }, 'canvas');
    if (n <= LABELLED_CELLS) {
      charts.get(id).setOption({series: [{data: cells.filter((cell) => cell[2] !== null).map((value) => (
        {value, label: {color: onDark(value[2]) ? '#ffffff' : '#1c2430'}}))}]});
    }
  };
  const drawRegion = () => {
    const fabric = fabrics[byId('fabric').selectedIndex];
    drawHeat('demand', fabric ? fabric.region_demand_tokens : [], {
      none: 'No tokens leave a server.', from: 'from server', to: 'to server', format: tokens,
      sentence: (from, to, value) => `server ${from} → server ${to}<br><b>${Number(number(value, 6))}</b> tokens`,
    });
    drawHeat('circuits', fabric ? fabric.region_circuits : [], {
      none: 'This fabric has no circuits.', from: 'server', to: 'server', format: String,
      sentence: (a, b, value) => `server ${a} and server ${b}<br><b>${value}</b> circuits`,
    });
  };

  const drawAll = () => {
    if (fabrics.length === 0) {
      ['iteration', 'value', 'cost', 'share', 'traffic'].forEach((id) =>
        drawNothing(id, 'No fabric was compared.'));
    } else {
      drawIteration();
      drawSeries();
      drawCauses();
      drawBars('value', 'perf_per_dollar', ratio, (v) => round(v) + '×');
      drawBars('cost', 'cost_usd', (v) => usd(v), (v) => usd(v, 'axis'));
      drawBars('share', 'all_to_all_share', percent, (v) => round(100 * v) + ' %');
      drawTraffic();
    }
    drawRegion();
  };

  names.forEach((name) => byId('fabric').add(new Option(name)));
  const wired = fabrics.findIndex((fabric) => fabric.region_circuits.length > 0);
  byId('fabric').selectedIndex = Math.max(0, wired);
  byId('fabric').addEventListener('change', drawRegion);
  dark.addEventListener('change', drawAll);
  let pending = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(drawAll);
  });
  drawAll();
})();
