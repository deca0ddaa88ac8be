'use strict';
// Draws the plots of a page: each from the JSON that follows its place. Colours are those of Okabe
// and Ito, which people with any colour vision can tell apart; marks, dashes and patterns differ
// with them.

const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a900',
    '#8c8c8c'];
const MARKS = ['circle', 'square', 'diamond', 'x', 'triangle-up', 'star', 'hexagon', 'cross'];
const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash', 'longdashdot'];
const PATTERNS = ['', '/', 'x', '.', '\\', '-', '+', '|'];
// From few to many: darker on light paper, lighter on dark paper.
const LIGHT_SCALE = [[0, '#f7f4e9'], [0.5, '#e69f00'], [1, '#6b1d00']];
const DARK_SCALE = [[0, '#202428'], [0.5, '#b87700'], [1, '#ffe9b0']];

const dark = matchMedia('(prefers-color-scheme: dark)');
const ink = () => (dark.matches ? '#e4e8ec' : '#1b1f24');
const of = (list, index) => list[index % list.length];

function xs(series) {
    return series.points.map((point) => {
        const number = Number(point.x);
        return point.x !== '' && Number.isFinite(number) ? number : point.x;
    });
}

function errors(series) {
    if (!series.points.some((point) => point.range)) return undefined;
    const part = (get) => series.points.map((p) => (p.range ? get(p.y, p.range) : 0));
    return {
        type: 'data',
        symmetric: false,
        array: part((y, range) => range[1] - y),
        arrayminus: part((y, range) => y - range[0]),
        color: ink(),
        thickness: 1.5,
    };
}

function lines(plot) {
    return plot.series.map((series, i) => ({
        type: 'scatter',
        mode: series.points.length > 100 ? 'lines' : 'lines+markers',
        name: series.name,
        x: xs(series),
        y: series.points.map((point) => point.y),
        error_y: errors(series),
        line: { color: of(COLOURS, i), dash: of(DASHES, i) },
        marker: { symbol: of(MARKS, i), size: 9 },
    }));
}

function points(plot) {
    return lines(plot).map((trace) => ({ ...trace, mode: 'markers' }));
}

// The line on which both axes are equal, below the points.
function equal(plot) {
    if (plot.kind !== 'points') return [];
    const all = plot.series.flatMap((series) => series.points);
    if (all.length === 0) return [];
    const values = all.map((p) => Number(p.x)).filter((v) => v > 0);
    const ends = [Math.min(...values), Math.max(...values)];
    return [{
        type: 'line', layer: 'below', x0: ends[0], y0: ends[0], x1: ends[1], y1: ends[1],
        line: { color: ink(), width: 1, dash: 'dot' },
    }];
}

// An axis of bytes shows powers of two, few enough for its length.
function byteTicks(axis, plot, narrow) {
    if (!axis || !axis.bytes) return {};
    const all = plot.series.flatMap((series) => series.points);
    const of = (p) => (axis === plot.x ? [Number(p.x)] : [p.y, ...(p.range || [])]);
    const values = all.flatMap(of);
    const logs = values.filter((v) => v > 0).map(Math.log2);
    if (logs.length === 0) return {};
    const [from, to] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
    const step = Math.max(1, Math.ceil((to - from) / (narrow ? 5 : 10)));
    const tickvals = [];
    for (let at = from; at <= to; at += step) tickvals.push(2 ** at);
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    const text = (bytes) => {
        const unit = Math.min(Math.floor(Math.log2(bytes) / 10), 4);
        return `${bytes / 1024 ** unit} ${units[unit]}`;
    };
    return { tickmode: 'array', tickvals, ticktext: tickvals.map(text) };
}

function bars(plot) {
    return plot.series.map((series, i) => ({
        type: 'bar',
        name: series.name,
        x: series.points.map((point) => point.x),
        y: series.points.map((point) => point.y),
        error_y: errors(series),
        marker: { color: of(COLOURS, i), pattern: { ...overlay(), shape: of(PATTERNS, i) } },
    }));
}

function overlay() {
    const fgcolor = dark.matches ? 'rgba(0,0,0,0.5)' : 'rgba(255,255,255,0.6)';
    return { fillmode: 'overlay', fgcolor, size: 7, solidity: 0.3 };
}

// Beside a map, or below it where there is no room.
function legend(narrow, more) {
    return narrow ? { orientation: 'h', y: -0.3, yanchor: 'top', thickness: 12, ...more } : more;
}

// Colours on both sides of 1, as far as the ratios go; equal ratios are equal steps. Each is
// written in, so that no scale need stand beside them.
function ratios(plot, narrow) {
    const [trace] = heatMap(plot, narrow);
    const logs = trace.z.map((row) => row.map((ratio) => (ratio > 0 ? Math.log2(ratio) : null)));
    // Hardly any colour where all are near 1.
    const most = Math.max(0.5, ...logs.flat().map(Math.abs));
    return [{
        ...trace,
        text: trace.z.map((row) => row.map((ratio) => (ratio > 0 ? ratio.toFixed(2) : ''))),
        texttemplate: '%{text}',
        hovertemplate: '%{y}, %{x}: %{text}<extra></extra>',
        z: logs, zmin: -most, zmax: most, xgap: 1, ygap: 1, showscale: false,
        colorscale: [[0, '#0072b2'], [0.5, dark.matches ? '#202428' : '#f7f4e9'], [1, '#d55e00']],
    }];
}

function heatMap(plot, narrow) {
    const first = plot.series[0];
    return [{
        type: 'heatmap',
        x: first ? first.points.map((point) => point.x) : [],
        y: plot.series.map((series) => series.name),
        z: plot.series.map((series) => series.points.map((point) => point.y)),
        colorscale: dark.matches ? DARK_SCALE : LIGHT_SCALE,
        colorbar: legend(narrow, {}),
    }];
}

// Rows of categories over a numeric x: who did what when.
function categories(part, narrow) {
    const plot = part.map;
    const count = Math.max(plot.categories.length, 1);
    const paper = dark.matches ? '#30353b' : '#e4e7ea';
    // The first is what is absent.
    const colour = (i) => (i === 0 ? paper : of(COLOURS, i - 1));
    const scale = [];
    for (let i = 0; i < count; i++) {
        scale.push([i / count, colour(i)], [(i + 1) / count, colour(i)]);
    }
    return [{
        type: 'heatmap',
        x: part.x.map(Number),
        y: part.rows,
        z: part.cells,
        text: part.cells.map((row) => row.map((cell) => plot.categories[cell])),
        hovertemplate: `%{x} ${plot.x.title}<br>${plot.y.title} %{y}: %{text}<extra></extra>`,
        zmin: -0.5,
        zmax: count - 0.5,
        colorscale: scale,
        colorbar: legend(narrow, {
            tickmode: 'array',
            tickvals: plot.categories.slice(0, 20).map((_, i) => i),
            ticktext: plot.categories.slice(0, 20),
        }),
    }];
}

function tree(data, narrow) {
    const values = data.nodes.map((node) => node.value);
    const id = (i) => `${i}`;
    return [{
        type: 'icicle',
        ids: data.nodes.map((_, i) => id(i)),
        labels: data.nodes.map((node) => node.name),
        parents: data.nodes.map((node) => (node.parent === null ? '' : id(node.parent))),
        text: values.map((value) => value.toPrecision(4).replace(/\.?0+$/, '')),
        textinfo: 'label+text',
        hovertemplate: `%{label}: %{text} ${data.unit}<extra></extra>`,
        tiling: { orientation: 'v' },
        marker: {
            colors: values,
            colorscale: dark.matches ? DARK_SCALE : LIGHT_SCALE,
            cmin: 0,
            cmax: Math.max(...values),
            colorbar: legend(narrow, { title: { text: data.unit } }),
            line: { color: dark.matches ? '#5b636b' : '#a8aeb4', width: 1 },
        },
    }];
}

// What the upward axis has of its own. The rows of a map of names stand as in its table, all named.
function upward(plot, narrow) {
    if (plot.kind === 'lines' || plot.kind === 'bars') return { rangemode: 'tozero' };
    if (plot.kind === 'ratios') return { type: 'category', autorange: 'reversed', dtick: 1 };
    return byteTicks(plot.y, plot, narrow);
}

function layout(plot, narrow) {
    const grid = dark.matches ? '#3a4047' : '#d5d9de';
    const axis = (from, more) => ({
        title: { text: from ? from.title : '', standoff: 8 },
        type: from && from.log ? 'log' : undefined,
        gridcolor: grid, linecolor: grid, zerolinecolor: grid, automargin: true, ...more,
    });
    // A log axis of few whole numbers shows these.
    const ticks = plot.x && plot.x.log && !plot.x.bytes && plot.series.length > 0
        ? { tickmode: 'array', tickvals: xs(plot.series[0]) } : {};
    return {
        font: { color: ink(), size: narrow ? 12 : 14 },
        paper_bgcolor: 'rgba(0,0,0,0)',
        plot_bgcolor: 'rgba(0,0,0,0)',
        barmode: plot.kind === 'stacked' ? 'stack' : 'group',
        xaxis: axis(plot.x, { ...ticks, ...byteTicks(plot.x, plot, narrow) }),
        yaxis: axis(plot.y, upward(plot, narrow)),
        shapes: equal(plot),
        legend: { orientation: 'h', y: 1.02, yanchor: 'bottom' },
        modebar: { bgcolor: 'rgba(0,0,0,0)', color: ink(), orientation: 'v' },
        showlegend: ['lines', 'points', 'bars', 'stacked'].includes(plot.kind)
            && plot.series.length > 1,
        margin: { l: narrow ? 40 : 60, r: 10, t: 30, b: 50 },
    };
}

const KINDS = { lines, points, bars, stacked: bars, heatmap: heatMap, ratios };

function draw(place) {
    const part = JSON.parse(place.nextElementSibling.textContent);
    const data = part.plot || part.tree || part.map;
    const narrow = place.clientWidth < 700;
    // A row that is named needs room for its name.
    if (part.plot && data.kind === 'ratios') {
        place.style.height = `${160 + 24 * data.series.length}px`;
    }
    const traces = part.plot ? KINDS[data.kind](data, narrow)
        : part.tree ? tree(data, narrow) : categories(part, narrow);
    const displayModeBar = narrow ? false : 'hover';
    const config = { responsive: true, displaylogo: false, displayModeBar };
    return Plotly.react(place, traces, layout(data, narrow), config);
}

function drawAll() {
    const places = [...document.querySelectorAll('.plot')];
    Promise.all(places.map(draw)).then(() => { document.body.dataset.drawn = places.length; });
}

dark.addEventListener('change', drawAll);
drawAll();
