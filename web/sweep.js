// Draws the curves of a sweep's page from the JSON in #data (src/report/sweep_html.h).
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const byId = (id) => document.getElementById(id);
  const make = (tag, parent, text = '') => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };

  const number = (value, digits = 4) => {
    if (value === null || !Number.isFinite(value)) return '-';
    if (value === 0) return '0';
    const exponent = Number(value.toExponential(digits - 1).split('e')[1]);
    return value.toFixed(Math.max(0, digits - 1 - exponent));
  };
  const scaled = (value, units, digits) => {
    const [size, unit] = units.find(([s]) => Math.abs(value) >= s) || units[units.length - 1];
    return String(Number(number(value / size, digits))) + unit;
  };
  const seconds = (digits) => (s) => (s === 0 ? '0 s'
    : scaled(s, [[1, ' s'], [1e-3, ' ms'], [1e-6, ' µs'], [1e-9, ' ns'], [1e-12, ' ps']], digits));
  const usd = (digits) => (d) => '$' + scaled(d, [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']], digits);
  const ratio = (digits) => (r) => String(Number(number(r, digits))) + '×';
  const text = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  const METRICS = [
    {key: 'iteration_s', name: 'Iteration time', format: seconds, caption: 'Of one training '
      + 'iteration; the dashed line is the bound: every NIC non-blocking.'},
    {key: 'all_to_all_s', name: 'All-to-all', format: seconds,
     caption: 'Time on the critical path that only all-to-alls occupy.'},
    {key: 'exposed_switching_s', name: 'Exposed switching', format: seconds,
     caption: 'Time on the critical path in which circuits are dark or NICs re-link.'},
    {key: 'perf_per_dollar', name: 'Performance per dollar', format: ratio,
     caption: 'Relative to fat-tree at the same point; higher is better.'},
    {key: 'cost_usd', name: 'Network cost', format: usd,
     caption: 'NICs, transceivers, switch ports and fibres.'},
  ];
  // Okabe and Ito's colours for colour-blind readers, and marks that differ without colour.
  const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1'];
  const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'pin', 'arrow', 'roundRect'];

  const fabrics = [];
  for (const point of data.points) {
    for (const fabric of (point && point.fabrics) || []) {
      if (!fabrics.includes(fabric.name)) fabrics.push(fabric.name);
    }
  }
  const hidden = new Set();
  const colour = (name) => COLOURS[fabrics.indexOf(name) % COLOURS.length];
  const [xAxis, multiples, ...choosable] = data.axes;
  const chosen = choosable.map(() => 0);
  const title = (axis) => axis.keys[0];
  const label = (axis, step) => String(axis.values[step]);

  // The point at one step of every axis; the last axis is fastest.
  const pointAt = (steps) => data.points[
    data.axes.reduce((at, axis, a) => at * axis.values.length + steps[a], 0)];
  const figure = (steps, name, key) => {
    const point = pointAt(steps);
    const found = ((point && point.fabrics) || []).find((fabric) => fabric.name === name);
    return found === undefined || found[key] === undefined ? null : found[key];
  };

  const numeric = xAxis.magnitudes.every((value) => value !== null);
  const logX = numeric && xAxis.log;
  // A time, a rate or a size is text in the file and a number of the base unit on the axis.
  const unitOf = () => {
    const sample = xAxis.values.find((value) => typeof value === 'string');
    if (sample === undefined) return null;
    if (/bps$|B\/s$/.test(sample)) {
      return (v) => scaled(v, [[1e12, ' Tb/s'], [1e9, ' Gb/s'], [1e6, ' Mb/s'], [1, ' b/s']], 3);
    }
    if (/B$/.test(sample)) {
      return (v) => scaled(v, [[1e9, ' GB'], [1e6, ' MB'], [1e3, ' kB'], [1, ' B']], 3);
    }
    return seconds(3);
  };
  const xFormat = unitOf() || ((v) => String(Number(number(v, 4))));
  const asCategory = !numeric;

  const ink = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    return {card: get('--card'), ink: get('--ink'), quiet: get('--quiet'), line: get('--line')};
  };

  // Values of a metric over the whole page: multiples share their scale, so that they compare.
  const spanOf = (metric) => {
    const values = [];
    const steps = data.axes.map(() => 0);
    chosen.forEach((step, c) => { steps[c + 2] = step; });
    for (let m = 0; m < (multiples ? multiples.values.length : 1); m += 1) {
      if (multiples) steps[1] = m;
      for (let x = 0; x < xAxis.values.length; x += 1) {
        steps[0] = x;
        for (const name of fabrics) {
          const value = hidden.has(name) ? null : figure(steps, name, metric.key);
          if (value !== null) values.push(value);
        }
      }
    }
    const positive = values.filter((value) => value > 0);
    const least = Math.min(...positive);
    const most = Math.max(...positive);
    return {empty: values.length === 0, zero: positive.length === 0, least, most,
            log: most / least > 20, dropped: positive.length < values.length};
  };

  const charts = [];
  const pairs = (steps, valueOf) => xAxis.values.map((_, x) => {
    const value = valueOf([x, ...steps.slice(1)]);
    return [asCategory ? x : xAxis.magnitudes[x], value];
  });
  const bounds = (steps) => pairs(steps, (at) => figure(at, fabrics[0], 'bound_s'));

  const axisX = (colours) => {
    const common = {
      name: title(xAxis), nameLocation: 'middle', nameGap: 30,
      nameTextStyle: {color: colours.quiet}, axisLine: {lineStyle: {color: colours.line}},
      axisLabel: {color: colours.quiet, hideOverlap: true}, splitLine: {show: false},
    };
    if (asCategory) return {...common, type: 'category', data: xAxis.values.map(String)};
    const ends = {min: Math.min(...xAxis.magnitudes), max: Math.max(...xAxis.magnitudes)};
    const label = {...common.axisLabel, formatter: xFormat};
    // Doublings are read at powers of two; whole decades at powers of ten.
    const doubles = logX && ends.max / ends.min < 1e3;
    return {...common, type: logX ? 'log' : 'value', logBase: doubles ? 2 : 10, ...ends,
            axisLabel: label, minorTick: {show: logX && !doubles}};
  };
  const axisY = (colours, metric, span) => {
    const room = {};
    if (span.log) {
      room.min = 10 ** Math.floor(Math.log10(span.least));
      room.max = 10 ** Math.ceil(Math.log10(span.most));
    } else {
      room.min = 0;
      room.max = (extent) => (span.most > 0 ? span.most * 1.05 : Math.max(1, extent.max));
    }
    return {
      type: span.log ? 'log' : 'value', ...room,
      axisLabel: {color: colours.quiet, formatter: metric.format(3), showMaxLabel: span.log},
      splitLine: {lineStyle: {color: colours.line}}, axisLine: {show: false},
    };
  };

  const line = (name, i, points, span) => ({
    name, type: 'line', symbol: SYMBOLS[i % SYMBOLS.length], symbolSize: 8, connectNulls: false,
    lineStyle: {width: 2}, itemStyle: {color: colour(name)}, color: colour(name),
    data: points.map(([x, y]) => [x, span.log && !(y > 0) ? null : y]),
  });

  const drawChart = (box, metric, span, steps) => {
    const colours = ink();
    const chart = echarts.init(box, null, {renderer: 'svg'});
    const shown = fabrics.filter((name) => !hidden.has(name));
    const series = shown.map((name) => line(name, fabrics.indexOf(name),
      pairs(steps, (at) => figure(at, name, metric.key)), span));
    if (metric.key === 'iteration_s' && fabrics.length > 0) {
      series.push({...line('bound', 0, bounds(steps), span), symbol: 'none',
                   itemStyle: {color: colours.ink}, color: colours.ink,
                   lineStyle: {width: 1.5, type: 'dashed', color: colours.ink}});
    }
    chart.setOption({
      animation: false, backgroundColor: 'transparent', aria: {enabled: true},
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: colours.ink},
      grid: {left: 66, right: 22, top: 12, bottom: 48},
      xAxis: axisX(colours), yAxis: axisY(colours, metric, span), series,
      tooltip: {
        trigger: 'axis', confine: true, backgroundColor: colours.card, borderColor: colours.line,
        textStyle: {color: colours.ink},
        formatter: (points) => {
          const x = points[0].data[0];
          const at = asCategory ? x : xAxis.magnitudes.indexOf(x);
          const rows = points.filter((p) => p.data[1] !== null).map((p) =>
            `${p.marker}${text(p.seriesName)} <b>${text(metric.format(4)(p.data[1]))}</b>`);
          return [`<b>${text(title(xAxis))} = ${text(label(xAxis, at))}</b>`, ...rows].join('<br>');
        },
      },
    });
    charts.push(chart);
  };

  // The section of a metric; drawing its charts waits until all sections are there.
  const drawMetric = (metric) => {
    const span = spanOf(metric);
    const section = make('section', byId('metrics'));
    make('h2', section, metric.name);
    const unknown = span.empty ? 'Not known: the sweep has no fat-tree, or no results yet.'
      : 'Zero at every point.';
    make('p', section, metric.caption
      + (span.log && span.dropped ? ' Logarithmic; zeros are not drawn.' : '')).className = 'caption';
    if (span.empty || span.zero) {
      make('p', section, unknown).className = 'empty';
      return () => {};
    }
    const grid = make('div', section);
    if (multiples) grid.className = multiples.values.length > 2 ? 'three' : 'two';
    // All boxes first: a chart takes the width that its box has when it is drawn.
    const boxes = (multiples ? multiples.values : ['']).map((_, m) => {
      const cell = make('div', grid);
      if (multiples) make('h3', cell, `${title(multiples)} = ${label(multiples, m)}`);
      const box = make('div', cell);
      box.className = 'chart';
      box.style.height = (multiples ? 240 : 280) + 'px';
      return box;
    });
    return () => boxes.forEach((box, m) =>
      drawChart(box, metric, span, [0, ...(multiples ? [m] : []), ...chosen]));
  };

  const drawAll = () => {
    charts.splice(0).forEach((chart) => chart.dispose());
    byId('metrics').textContent = '';
    byId('metrics').className = multiples ? '' : 'two';
    METRICS.map(drawMetric).forEach((drawIt) => drawIt());
  };

  const drawLegend = () => {
    for (const name of fabrics) {
      const button = make('button', byId('legend'));
      make('i', button).style.borderColor = colour(name);
      make('span', button, name);
      button.setAttribute('aria-pressed', 'true');
      button.addEventListener('click', () => {
        if (!hidden.delete(name)) hidden.add(name);
        button.setAttribute('aria-pressed', String(!hidden.has(name)));
        drawAll();
      });
    }
  };
  const drawChoices = () => choosable.forEach((axis, c) => {
    const field = make('label', byId('choices'), title(axis) + ' ');
    const select = make('select', field);
    axis.values.forEach((_, step) => select.add(new Option(label(axis, step))));
    select.addEventListener('change', () => {
      chosen[c] = select.selectedIndex;
      drawAll();
    });
  });

  const drawTable = () => {
    const table = make('table', byId('points'));
    const head = make('tr', make('thead', table));
    data.axes.forEach((axis) => make('th', head, axis.keys.join(', ')));
    ['fabric', ...METRICS.map((metric) => metric.name)].forEach((name) => make('th', head, name));
    const body = make('tbody', table);
    data.points.forEach((point, index) => {
      let rest = index;
      const steps = [...data.axes].reverse().map((axis) => {
        const step = rest % axis.values.length;
        rest = Math.floor(rest / axis.values.length);
        return label(axis, step);
      }).reverse();
      const row = (cells) => {
        const tr = make('tr', body);
        [...steps, ...cells].forEach((cell) => make('td', tr, cell));
      };
      if (point === null) row(['not simulated yet']);
      else if (point.error !== undefined) row(['failed: ' + point.error]);
      else {
        point.fabrics.forEach((fabric) => row([fabric.name, ...METRICS.map((metric) => (
          fabric[metric.key] === null ? '-' : metric.format(4)(fabric[metric.key])))]));
      }
    });
  };

  drawLegend();
  drawChoices();
  drawTable();
  drawAll();
  dark.addEventListener('change', drawAll);
  let pending = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(drawAll);
  });
})();
