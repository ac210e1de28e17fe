// Draws the charts that the page's data describes; their content was decided when the page
// was made.
(() => {
  const charts = JSON.parse(document.getElementById('charts').textContent);
  const drawn = [];
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // A few series have colours of their own; many are coloured by their order, from one end of a
  // scale to the other.
  const kOwnColours = 8;
  const channels = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const colour = (i, count) => {
    if (count <= kOwnColours) return css('--series-' + (i + 1));
    const stops = [
      '--series-1', '--series-3', '--series-5', '--series-2', '--series-4'
    ].map(css).map(channels);
    const at = i / (count - 1) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(at));
    return '#' +
        stops[k]
            .map(
                (v, c) =>
                    Math.round(v + (at - k) * (stops[k + 1][c] - v)).toString(16).padStart(2, '0'))
            .join('');
  };
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, '0');

  // Bands and vertical lines of the profile are behind the samples, their names before them. A name
  // is written where there is room for it.
  const marks = {
    id: 'marks',
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area} = chart;
      ctx.save();
      placed(chart).forEach(({mark, left, right}, i) => {
        const isLine = mark.from === mark.to;
        ctx.fillStyle = ctx.strokeStyle = `rgba(${css('--band')}, ${
            isLine    ? 0.9 :
                i % 2 ? 0.13 :
                        0.2})`;
        if (isLine) {
          ctx.setLineDash([4, 3]);
          ctx.beginPath();
          ctx.moveTo(left, area.top);
          ctx.lineTo(left, area.bottom);
          ctx.stroke();
        } else {
          ctx.fillRect(left, area.top, Math.max(1, right - left), area.bottom - area.top);
        }
      });
      ctx.restore();
    },
    afterDatasetsDraw(chart) {
      const {ctx, chartArea: area} = chart;
      const rows = [];  // end of the last name in each row
      ctx.save();
      ctx.font = `11px ${Chart.defaults.font.family}`;
      ctx.textBaseline = 'top';
      placed(chart).forEach(({mark, left, right}) => {
        const width = ctx.measureText(mark.name).width, roomy = right - left >= width + 6;
        if (!roomy && (chart.config.options.tight || (mark.from !== mark.to && area.width < 500)))
          return;
        const at = Math.max(area.left, Math.min(left + 4, area.right - width - 2));
        let row = rows.findIndex(taken => taken < at);
        if (row < 0) row = rows.length;
        if (row > 5) return;
        rows[row] = at + width + 6;
        ctx.fillStyle = faded(css('--panel'), 0.75);
        ctx.fillRect(at - 1, area.top + 2 + 14 * row, width + 2, 13);
        ctx.fillStyle = css('--text');
        ctx.fillText(mark.name, at, area.top + 3 + 14 * row);
      });
      ctx.restore();
    },
  };

  function placed(chart) {
    const {chartArea: area, scales: {x}} = chart;
    return (chart.config.options.marks || [])
        .map(mark => ({
               mark,
               left: Math.max(area.left, x.getPixelForValue(mark.from)),
               right: Math.min(area.right, x.getPixelForValue(mark.to)),
             }))
        .filter(m => m.right >= area.left && m.left <= area.right);
  }

  // Position of a series' bar beside those of the others, around its name's position.
  const offset = (series, count) => count < 2 ? 0 : ((series + 0.5) / count - 0.5) * 0.8;

  // Whether the reader wants a chart's intervals: they hide the samples where there are many.
  const box = chart => document.querySelector(`input[data-intervals="${charts.indexOf(chart)}"]`);
  const asked = chart => box(chart)?.checked ?? false;

  function samplesOf(series, index, chart, count) {
    const shift = chart.names.length ? offset(index, count) : 0;
    const at = p => ({x: p[0] + shift, y: p[1]});
    const own = colour(index, chart.series.length), many = series.samples.length > 1500;
    const out = [];
    const axis = chart.names.length ? 'positions' : 'x';
    if (series.samples.length)
      out.push({
        type: 'scatter',
        label: series.name,
        data: series.samples.map(at),
        xAxisID: axis,
        role: 'samples',
        pointRadius: many ? 1.3 : 1.8,
        pointHoverRadius: 4,
        pointBackgroundColor: faded(own, many ? 0.45 : 0.55),
        pointBorderWidth: 0,
        order: 3
      });
    if (series.waiting.length)
      out.push({
        type: 'scatter',
        label: series.name + ', kept waiting',
        data: series.waiting.map(at),
        xAxisID: axis,
        role: 'waiting',
        pointStyle: 'crossRot',
        pointRadius: 3,
        pointBorderColor: faded(own, 0.55),
        pointBorderWidth: 1,
        order: 4
      });
    if (series.intervals.length)
      out.push({
        type: 'line',
        label: series.name,
        data: series.intervals.flatMap(
            i => [{x: i[0], y: i[1]}, {x: i[0], y: i[2]}, {x: i[0], y: NaN}]),
        role: 'intervals',
        hidden: !asked(chart),
        borderColor: faded(own, 0.35),
        borderWidth: 1,
        pointRadius: 0,
        pointHitRadius: 0,
        order: 6
      });
    return out;
  }

  function estimatesOf(series, index, chart) {
    const own = colour(index, chart.series.length);
    if (!series.line.length) return [];
    const about = {label: series.name, role: 'estimate', order: 1};
    if (chart.names.length && !chart.y.log) {
      const data = chart.names.map(() => null);
      for (const p of series.line) data[p[0]] = p[1];
      return [{
        ...about,
        type: 'bar',
        data,
        backgroundColor: faded(own, 0.45),
        borderColor: own,
        borderWidth: 1,
        order: 5
      }];
    }
    if (chart.names.length) {  // on a logarithmic axis a bar's length means nothing
      const shift = offset(index, chart.series.length);
      return [{
        ...about,
        type: 'scatter',
        xAxisID: 'positions',
        data: series.line.map(p => ({x: p[0] + shift, y: p[1]})),
        pointStyle: 'rectRot',
        pointRadius: 6,
        pointBackgroundColor: own,
        pointBorderColor: css('--panel')
      }];
    }
    if (series.reference)
      return [{
        ...about,
        type: 'line',
        data: series.line.map(p => ({x: p[0], y: p[1]})),
        borderColor: css('--quiet'),
        borderWidth: 1.2,
        borderDash: [5, 4],
        pointRadius: 0,
        pointHitRadius: 0,
        order: 2
      }];
    const drawnOnly = !series.samples.length && !series.waiting.length;
    return [{
      ...about,
      type: 'line',
      data: series.line.map(p => ({x: p[0], y: p[1], low: p[2], high: p[3]})),
      showLine: series.joined,
      borderColor: own,
      backgroundColor: own,
      borderWidth: drawnOnly ? 4 : 1.6,
      pointRadius: drawnOnly      ? 0 :
          series.line.length > 40 ? 1.5 :
                                    3,
      spanGaps: false,
      tension: 0
    }];
  }

  function axisOf(axis, names) {
    const options = {
      type: axis.log ? 'logarithmic' : 'linear',
      title: {display: axis.title !== '', text: axis.title, color: css('--quiet')},
      grid: {color: css('--grid'), borderColor: css('--rule')},
      ticks: {
        color: css('--quiet'),
        maxRotation: 0,
        autoSkipPadding: 12,
        includeBounds: false,
        callback: v => human(v, axis.kind)
      },
    };
    if (axis.log)
      options.afterBuildTicks = scale => {
        scale.ticks = logTicks(scale.min, scale.max, axis.kind);
      };
    if (axis.kind === 'count' && !axis.log && axis.title !== 'sample') options.ticks.precision = 0;
    if (!names) return options;
    return {
      ...options,
      type: 'category',
      labels: names,
      offset: true,
      ticks: {color: css('--quiet'), maxRotation: 60, autoSkip: false}
    };
  }

  // Powers of two for sizes, 1-2-5 for all else, as many as a reader can use.
  function logTicks(min, max, kind) {
    const out = [];
    if (kind === 'bytes' || kind === 'count') {
      const first = Math.ceil(Math.log2(min)), last = Math.floor(Math.log2(max)),
            step = Math.max(1, Math.ceil((last - first) / 9));
      for (let e = first; e <= last; e += step) out.push({value: 2 ** e});
    } else {
      const decades = Math.log10(max / min);
      for (let e = Math.floor(Math.log10(min)); e <= Math.ceil(Math.log10(max)); ++e)
        for (const m of decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5])
          if (m * 10 ** e >= min * 0.999 && m * 10 ** e <= max * 1.001)
            out.push({value: m * 10 ** e});
    }
    if (out.length < 3) {  // within a part of a decade: equal steps
      const rough = (max - min) / 4, power = 10 ** Math.floor(Math.log10(rough)),
            step = [1, 2, 5, 10].find(m => m * power >= rough) * power;
      const even = [];
      for (let v = Math.ceil(min / step) * step; v <= max * (1 + 1e-9); v += step)
        even.push({value: v});
      if (even.length > out.length) return even;
    }
    return out.length ? out : [{value: min}, {value: max}];
  }

  // The range of the samples, with a margin.
  function rangeOf(values, log) {
    const seen = values.filter(v => v !== null && Number.isFinite(v) && (!log || v > 0));
    if (!seen.length) return [log ? 1 : 0, 2];
    let min = seen[0], max = seen[0];
    for (const v of seen) {
      min = Math.min(min, v);
      max = Math.max(max, v);
    }
    if (log)
      return [min / Math.max(1.08, (max / min) ** 0.03), max * Math.max(1.08, (max / min) ** 0.03)];
    const air = 0.04 * (max - min || max || 1);
    return [min >= 0 && min < 0.5 * max ? 0 : min - air, max + air];
  }

  // A few interrupted samples would compress all others to the axis.
  function shownOf(values) {
    const sorted = values.filter(v => v !== null && Number.isFinite(v)).sort((a, b) => a - b);
    if (sorted.length < 50) return sorted;
    const high = sorted[Math.floor(0.985 * (sorted.length - 1))];
    return sorted.filter(v => v <= 1.5 * high);
  }

  function legendFilter(item, data) {
    const set = data.datasets[item.datasetIndex];
    const first = data.datasets.findIndex(d => d.label === set.label);
    return set.role === 'waiting' ? false : first === item.datasetIndex;
  }

  function toggle(event, item, legend) {
    const chart = legend.chart, name = item.text, show = !chart.isDatasetVisible(item.datasetIndex);
    chart.data.datasets.forEach((d, i) => {
      if (d.label === name || d.label === name + ', kept waiting')
        chart.setDatasetVisibility(
            i, show && (d.role !== 'intervals' || asked(charts[chart.config.options.of])));
    });
    chart.update();
  }

  function optionsOf(chart) {
    const names = chart.names.length ? chart.names : null;
    const taken = chart.series.flatMap(s => [...s.samples, ...s.waiting].map(p => p[1]));
    const ys = [
      ...(chart.whole ? taken : shownOf(taken)), ...chart.series.flatMap(s => s.line.map(p => p[1]))
    ];
    const xs = chart.series.flatMap(s => [...s.samples, ...s.waiting, ...s.line].map(p => p[0]));
    if (chart.equal) xs.push(...ys), ys.push(...xs);
    const scales = {x: axisOf(chart.x, names), y: axisOf(chart.y, null)};
    [scales.y.min, scales.y.max] = rangeOf(ys, chart.y.log);
    if (names && !chart.y.log) scales.y.min = 0;
    if (chart.y.kind === 'share')
      scales.y.min = -0.03 * scales.y.max;  // most of them are 0: not under the axis
    if (names)
      scales.positions =
          {type: 'linear', axis: 'x', display: false, min: -0.5, max: names.length - 0.5};
    else
      [scales.x.min, scales.x.max] = rangeOf(xs, chart.x.log);
    if (!names && !chart.x.log && chart.x.kind === 'count' && Math.max(...[0, ...xs]) < 40) {
      scales.x.min = Math.min(...xs) - 0.5;
      scales.x.max = Math.max(...xs) + 0.5;
    }
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      of: charts.indexOf(chart),
      marks: chart.marks,
      tight: chart.marks.length > 12,
      scales,
      interaction: {mode: 'nearest', intersect: true},
      plugins: {
        legend: {
          labels: {
            color: css('--text'),
            usePointStyle: true,
            boxWidth: 10,
            boxHeight: 7,
            padding: 14,
            filter: legendFilter
          },
          onClick: toggle
        },
        tooltip: {
          callbacks: {
            title: items => names ? names[Math.round(items[0].parsed.x)] :
                                    human(items[0].parsed.x, chart.x.kind),
            label: item => {
              const p = item.raw,
                    interval = p && p.low ?
                  ` (${human(p.low, chart.y.kind)} – ${human(p.high, chart.y.kind)})` :
                  '';
              return `${item.dataset.label}: ${human(item.parsed.y, chart.y.kind)}${interval}`;
            },
          },
        },
      },
    };
  }

  function draw(canvas) {
    const chart = charts[Number(canvas.dataset.chart)];
    const count = chart.series.length;
    const datasets = chart.series.flatMap(
        (s, i) => [...estimatesOf(s, i, chart), ...samplesOf(s, i, chart, count)]);
    drawn.push(new Chart(
        canvas,
        {data: {labels: chart.names, datasets}, options: optionsOf(chart), plugins: [marks]}));
  }

  function drawAll() {
    while (drawn.length) drawn.pop().destroy();
    document.querySelectorAll('canvas[data-chart]').forEach(draw);
  }

  document.querySelectorAll('input[data-intervals]').forEach(input => {
    input.addEventListener('change', () => {
      const chart = drawn.find(d => d.canvas.dataset.chart === input.dataset.intervals);
      const shown = new Set(chart.data.datasets.filter((d, i) => chart.isDatasetVisible(i))
                                .filter(d => d.role !== 'intervals')
                                .map(d => d.label));
      chart.data.datasets.forEach((d, i) => {
        if (d.role === 'intervals')
          chart.setDatasetVisibility(i, input.checked && shown.has(d.label));
      });
      chart.update();
    });
  });
  document.querySelectorAll('.picture').forEach(wide => {
    wide.scrollLeft = (wide.scrollWidth - wide.clientWidth) / 2;
  });
  Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  // Prints have a white background.
  addEventListener('beforeprint', () => {
    document.documentElement.classList.add('print');
    drawAll();
  });
  addEventListener('afterprint', () => {
    document.documentElement.classList.remove('print');
    drawAll();
  });
})();
