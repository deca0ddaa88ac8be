'use strict';
// Draws the plots of a page: each from the JSON that follows its place. Colours are those of Okabe
// and Ito, which people with any colour vision can tell apart; marks, dashes and patterns differ
// with them.

const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a900',
    '#8c8c8c'];
const MARKS = ['circle', 'square', 'diamond', 'x', 'triangle-up', 'star', 'hexagon', 'cross'];
const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash', 'longdashdot'];
const PATTERNS = ['', '/', 'x', '.', '\\', '-', '+', '|'];
// Cells of a map have one of seven colours and one of these patterns: which cells of a colour have
// its tint instead, by column and by the third of their row.
const PLAIN = 7;
const CELLS = [
    () => false,
    (x) => x % 12 < 5,
    (x, third) => third === 1,
    (x, third) => (Math.floor(x / 6) + third) % 2 === 0,
    (x, third) => third === 1 && x % 10 < 5,
];
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
    const shape = plot.kind === 'steps' ? 'hv' : 'linear';
    return plot.series.map((series, i) => ({
        type: 'scatter',
        mode: series.points.length > 100 ? 'lines' : 'lines+markers',
        name: series.name,
        x: xs(series),
        y: series.points.map((point) => point.y),
        error_y: errors(series),
        line: { color: of(COLOURS, i), dash: of(DASHES, i), shape },
        marker: { symbol: of(MARKS, i), size: 9 },
    }));
}

function points(plot) {
    // Open, so that marks in one place are all seen.
    return lines(plot).map((trace, i) => ({
        ...trace,
        mode: 'markers',
        marker: { symbol: `${of(MARKS, i)}-open`, size: 10, line: { width: 2 } },
    }));
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
        marker: {
            color: of(COLOURS, i),
            // The eighth colour is followed by the first, with another pattern.
            pattern: { ...overlay(), shape: of(PATTERNS, i + Math.floor(i / COLOURS.length)) },
        },
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

// The colour of a category, its tint, and its pattern. The first category is what is absent, the
// second what belongs to none of the others.
function look(category) {
    const paper = dark.matches ? '#30353b' : '#e4e7ea';
    if (category < 2) return { colour: category === 0 ? paper : '#8c8c8c', pattern: 0 };
    const [number, colour] = [category - 2, of(COLOURS.slice(0, PLAIN), category - 2)];
    const [towards, share] = [dark.matches ? 20 : 255, 0.72];
    const mixed = [1, 3, 5].map((at) => {
        const part = parseInt(colour.slice(at, at + 2), 16);
        return Math.round(part + (towards - part) * share);
    });
    return {
        colour,
        tint: `rgb(${mixed.join(',')})`,
        pattern: Math.floor(number / PLAIN) % CELLS.length,
    };
}

// Rows of categories over a numeric x: who did what when.
function categories(part) {
    const plot = part.map;
    const looks = plot.categories.map((_, i) => look(i));
    const thirds = looks.some((one) => one.pattern > 0) ? [0, 1, 2] : [1];
    const count = 2 * Math.max(looks.length, 1);
    const scale = looks.flatMap(({ colour, tint }, i) => [
        [2 * i / count, colour], [(2 * i + 1) / count, colour],
        [(2 * i + 1) / count, tint || colour], [(2 * i + 2) / count, tint || colour],
    ]);
    const cell = (category, x, third) =>
        2 * category + (CELLS[looks[category].pattern](x, third) ? 1 : 0);
    const texts = part.cells.map((row) => row.map((category) => plot.categories[category]));
    return [{
        type: 'heatmap',
        x: part.x.map(Number),
        y: part.rows.flatMap((_, row) => thirds.map((third) => row + (third - 1) / 3)),
        z: part.cells.flatMap((row) =>
            thirds.map((third) => row.map((category, x) => cell(category, x, third)))),
        text: texts.flatMap((row) => thirds.map(() => row)),
        hovertemplate: `%{x} ${plot.x.title}: %{text}<extra></extra>`,
        zmin: -0.5,
        zmax: count - 0.5,
        colorscale: scale,
        showscale: false,
    }];
}

// What colours and patterns mean, below a map of categories: those that are in it.
function explain(place, part) {
    const seen = new Set(part.cells.flat());
    const list = document.createElement('ul');
    list.className = 'legend';
    part.map.categories.forEach((name, category) => {
        if (!seen.has(category)) return;
        const { colour, tint, pattern } = look(category);
        const background = [
            colour,
            `repeating-linear-gradient(90deg, ${tint} 0 3px, ${colour} 3px 8px)`,
            `linear-gradient(${colour} 33%, ${tint} 33% 67%, ${colour} 67%)`,
            `repeating-conic-gradient(${tint} 0 25%, ${colour} 0 50%) 0 0 / 8px 8px`,
            `repeating-linear-gradient(90deg, ${tint} 0 4px, transparent 4px 8px) 0 5px / 100% 6px
                no-repeat, ${colour}`,
        ][pattern];
        const item = document.createElement('li');
        const swatch = document.createElement('span');
        swatch.style.background = background;
        item.append(swatch, name);
        list.append(item);
    });
    const after = place.nextElementSibling;
    if (after.className === 'legend') after.remove();
    place.after(list);
}

// A number in three digits.
function short(value) {
    return value >= 100 ? value.toFixed(0) : `${Number(value.toPrecision(3))}`;
}

function tree(data, narrow) {
    const values = data.nodes.map((node) => node.value);
    const id = (i) => `${i}`;
    return [{
        type: 'icicle',
        ids: data.nodes.map((_, i) => id(i)),
        labels: data.nodes.map((node) => node.name),
        parents: data.nodes.map((node) => (node.parent === null ? '' : id(node.parent))),
        text: values.map(short),
        textinfo: 'label+text',
        hovertemplate: `%{label}: %{text} ${data.unit}<extra></extra>`,
        tiling: { orientation: 'v' },
        marker: {
            colors: values,
            colorscale: dark.matches ? DARK_SCALE : LIGHT_SCALE,
            cmin: 0,
            cmax: data.most,
            colorbar: legend(narrow, { title: { text: data.unit }, y: narrow ? -0.05 : 0.5 }),
            line: { color: dark.matches ? '#5b636b' : '#a8aeb4', width: 1 },
        },
    }];
}

// What the upward axis has of its own. The rows of a map of names stand as in its table, all named.
function upward(plot, narrow) {
    if (['lines', 'steps', 'bars'].includes(plot.kind)) return { rangemode: 'tozero' };
    if (plot.kind === 'ratios') return { type: 'category', autorange: 'reversed', dtick: 1 };
    if (plot.kind === 'categories') return rowTicks(plot.rows, narrow);
    return byteTicks(plot.y, plot, narrow);
}

// The names of some rows, from above down.
function rowTicks(rows, narrow) {
    const step = Math.ceil(rows.length / (narrow ? 12 : 20));
    const some = rows.map((name, row) => [row, name]).filter(([row]) => row % step === 0);
    return {
        autorange: 'reversed',
        tickmode: 'array',
        tickvals: some.map(([row]) => row),
        ticktext: some.map(([, name]) => name),
    };
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
        showlegend: ['lines', 'steps', 'points', 'bars', 'stacked'].includes(plot.kind)
            && plot.series.length > 1,
        // Text that is too small to be read is left out.
        uniformtext: plot.nodes ? { minsize: 9, mode: 'hide' } : undefined,
        // To the right there is room for the buttons. What has no axes needs no room for their
        // names.
        margin: plot.nodes ? { l: 0, r: narrow ? 0 : 40, t: 10, b: narrow ? 60 : 10 }
            : { l: narrow ? 40 : 60, r: narrow ? 10 : 40, t: 30, b: 50 },
    };
}

const KINDS = { lines, steps: lines, points, bars, stacked: bars, heatmap: heatMap, ratios };

const isNarrow = (place) => place.clientWidth < 700;

function draw(place) {
    const json = place.parentElement.querySelector('script[type="application/json"]');
    const part = JSON.parse(json.textContent);
    const data = part.map ? { ...part.map, rows: part.rows } : part.plot || part.tree;
    const narrow = isNarrow(place);
    // A row that is named needs room for its name.
    if (part.plot && data.kind === 'ratios') {
        place.style.height = `${160 + 24 * data.series.length}px`;
    }
    if (part.map) explain(place, part);
    const traces = part.plot ? KINDS[data.kind](data, narrow)
        : part.tree ? tree(data, narrow) : categories(part);
    const displayModeBar = narrow ? false : 'hover';
    const modeBarButtonsToRemove = ['select2d', 'lasso2d', 'autoScale2d'];
    const config = { responsive: true, displaylogo: false, displayModeBar, modeBarButtonsToRemove };
    // What was drawn for another width or scheme leaves traces.
    Plotly.purge(place);
    return Plotly.newPlot(place, traces, layout(data, narrow), config);
}

// One plot after another, with time for the reader between: those in sight first, the others from
// above down. What is begun anew meanwhile ends the round.
let round = 0;
async function drawAll() {
    round += 1;
    const own = round;
    delete document.body.dataset.drawn;
    const waiting = [...document.querySelectorAll('.plot')];
    const plots = waiting.length;
    const inSight = (place) => {
        const { top, bottom } = place.getBoundingClientRect();
        return bottom > 0 && top < innerHeight;
    };
    while (waiting.length > 0) {
        await new Promise((resume) => { setTimeout(resume); });
        if (own !== round) return;
        const next = Math.max(waiting.findIndex(inSight), 0);
        const [place] = waiting.splice(next, 1);
        await draw(place);
        performance.mark('plot');
    }
    document.body.dataset.drawn = plots;
}

dark.addEventListener('change', drawAll);
// What is narrow is drawn otherwise.
let wasNarrow;
new ResizeObserver(() => {
    const place = document.querySelector('.plot');
    const before = wasNarrow;
    wasNarrow = isNarrow(place);
    if (before !== undefined && before !== wasNarrow) drawAll();
}).observe(document.body);
drawAll();
