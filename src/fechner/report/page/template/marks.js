"use strict";
// Marks: how what is on a panel is drawn, and what explains it.
const Marks = (() => {
  // Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7fd0", "#999999"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon"];
  // Parts of viridis that stand out on a light and on a dark ground.
  const RAMPS = {
    light: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#4fb457", "#86ac26", "#b59f10"],
    dark: ["#9a7fe0", "#7d8fe0", "#55a3d8", "#35b4c4", "#2fbfa0", "#4dcb7a", "#86d549", "#c2df23", "#fde725"],
  };
  // Cells with numbers in them are at least so large, in pixels.
  const NUMBERED = { across: 30, down: 15 };

  // Plotly reads a few tags in text; names are plain text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, length = 34) => (text.length > length ? `${text.slice(0, length / 2 - 1)}…${text.slice(-length / 2 + 1)}` : text);
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const format = (value) => (value === null || value === undefined ? "n/a" : Number(value).toPrecision(3));
  // As short as it can be: 2 rather than 2.00.
  const brief = (value) => (value === null ? "n/a" : String(Number(Number(value).toPrecision(3))));
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  // What stands at a place of an axis, in words: its name where it has one.
  function told(spec, value) {
    if (spec.ticks.length) return spec.ticks[value] ?? "";
    const named = spec.named.find(([place]) => Math.abs(place - value) <= 1e-4 * Math.abs(place));
    return named ? named[1] : brief(value);
  }

  function logTicks(values) {
    const known = values.filter((v) => v !== null && v > 0);
    const [low, high] = [Math.log10(least(known)), Math.log10(most(known))];
    const ticks = [];
    for (let decade = Math.floor(low); decade <= high; decade += 1) {
      for (const digit of [1, 2, 5]) {
        const at = decade + Math.log10(digit);
        if (at >= low - 1e-9 && at <= high + 1e-9) ticks.push(at);
      }
    }
    const sparse = ticks.length > 8 ? ticks.filter((t) => Math.abs(t - Math.round(t)) < 1e-9) : ticks;
    return { tickvals: sparse, ticktext: sparse.map((t) => String(Number((10 ** t).toPrecision(1)))) };
  }

  // A heat map may have more cells than a function takes arguments.
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const bar = (title, more = {}) => ({ thickness: 9, outlinewidth: 0, title: { text: plain(title), side: "right", font: { size: 11 } }, ...more });

  function surface(mark, panel, context) {
    const flat = mark.z.flat().filter((v) => v !== null && (!mark.log || v > 0));
    if (!flat.length) return [];
    const lowest = least(flat);
    const shade = (v) => (v === null ? null : mark.log ? Math.log10(Math.max(v, lowest)) : v);
    const ends = mark.low === null ? {} : { zauto: false, zmin: shade(mark.low), zmax: shade(mark.high) };
    const colorscale = mark.colours ? mark.colours.map((tone, i) => [i / (mark.colours.length - 1), tone]) : "Viridis";
    // What has names has no values in between.
    if (mark.edges) return [cells(mark, panel, context, { z: mark.z.map((row) => row.map(shade)), colorscale, ...ends })];
    const traces = [{
      type: "contour", x: mark.x, y: mark.y, z: mark.z.map((row) => row.map(shade)), customdata: mark.z,
      colorscale, ncontours: 14, contours: { coloring: "heatmap" }, line: { width: 0.5, color: "rgba(255,255,255,.45)" },
      colorbar: bar(mark.label, mark.log ? logTicks(flat) : {}), ...ends,
      hovertemplate: `${plain(panel.x.label)}: %{x:.3g}<br>${plain(panel.y.label)}: %{y:.3g}<br>${plain(mark.label)}: %{customdata:.3g}<extra></extra>`,
    }];
    if (mark.criterion !== null && (!mark.log || mark.criterion > 0)) {
      const level = shade(mark.criterion);
      for (const [tone, width] of [["#ffffff", 4.5], ["#d55e00", 2]]) {
        traces.push({
          type: "contour", x: mark.x, y: mark.y, z: traces[0].z, showscale: false, hoverinfo: "skip", autocontour: false,
          contours: { coloring: "none", start: level, end: level, size: 1, showlabels: false }, line: { color: tone, width },
        });
      }
    }
    if (mark.doubtful.length) {
      traces.push({
        type: "scatter", mode: "markers", x: mark.doubtful.map(([i]) => mark.x[i]), y: mark.doubtful.map(([, j]) => mark.y[j]),
        marker: { symbol: "x-thin-open", size: 4, color: "rgba(255,255,255,.75)", line: { width: 1 } }, hovertemplate: "cannot be shown as meant<extra></extra>",
      });
    }
    return traces;
  }

  // Names of columns and rows are told by pointing at a cell: there may be room for few of them.
  function cells(mark, panel, context, more) {
    const [columns, rows] = [mark.x.map((v) => plain(told(panel.x, v))), mark.y.map((v) => plain(told(panel.y, v)))];
    const digits = mark.z.flat().every((v) => v === null || Number.isInteger(v)) ? 0 : 2;
    const few = context.width / columns.length >= NUMBERED.across && context.height / rows.length >= NUMBERED.down;
    const gaps = Math.max(columns.length, rows.length) <= 60 ? { xgap: 1, ygap: 1 } : {};
    const between = (spec) => (spec.ticks.length || !spec.label ? "" : `${plain(spec.label)}: `);
    return {
      type: "heatmap", x: mark.edges[0], y: mark.edges[1], ...more, ...gaps, hoverongaps: false, colorbar: bar(mark.label),
      ...(few ? { text: mark.z.map((row) => row.map((v) => (v === null ? "" : v.toFixed(digits).replace("-", "−")))), texttemplate: "%{text}" } : {}),
      customdata: mark.z.map((row, j) => row.map(() => rows[j])), hovertext: mark.z.map(() => columns),
      hovertemplate: `${between(panel.y)}%{customdata}<br>${between(panel.x)}%{hovertext}<br>${plain(mark.label)}: %{z:.3g}<extra></extra>`,
    };
  }

  // Steps of one quantity have a ramp; kinds have colours of their own.
  function tint(group, panel) {
    if (panel.colours) return panel.colours[isDark() ? 1 : 0][group];
    if (!panel.ordered) return COLOURS[group % COLOURS.length];
    const groups = 1 + Math.max(...panel.marks.map((mark) => mark.group || 0));
    const ramp = RAMPS[isDark() ? "dark" : "light"];
    const at = (group / Math.max(1, groups - 1)) * (ramp.length - 1);
    const [one, other] = [ramp[Math.floor(at)], ramp[Math.min(Math.ceil(at), ramp.length - 1)]];
    const mixed = [1, 3, 5].map((i) => {
      const [a, b] = [one, other].map((hex) => parseInt(hex.slice(i, i + 2), 16));
      return Math.round(a + (b - a) * (at % 1)).toString(16).padStart(2, "0");
    });
    return `#${mixed.join("")}`;
  }

  function line(mark, panel, context) {
    const guide = mark.style === "guide";
    const tone = guide ? colour("--soft") : context.onSurface ? "#1c1d22" : tint(mark.group, panel);
    const turn = panel.ordered ? 0 : Math.floor(mark.group / COLOURS.length) % DASHES.length;
    const dash = guide ? "dot" : mark.human ? "dash" : DASHES[turn];
    const width = guide ? 1.3 : mark.style === "fan" ? 0.8 : mark.human ? 2 : 2.2;
    const traces = [];
    if (mark.low) {
      traces.push(
        { type: "scatter", mode: "lines", x: mark.x, y: mark.high, line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: `g${mark.group}` },
        { type: "scatter", mode: "lines", x: mark.x, y: mark.low, line: { width: 0 }, fill: "tonexty", fillcolor: `${tone}22`, hoverinfo: "skip", showlegend: false, legendgroup: `g${mark.group}` },
      );
    }
    const names = mark.names || mark.x.map(() => mark.label);
    if (context.onSurface) {
      traces.push({ type: "scatter", mode: "lines", x: mark.x, y: mark.y, line: { color: "#ffffff", width: 5 }, hoverinfo: "skip", showlegend: false });
    }
    traces.push({
      type: "scatter", mode: mark.names ? "lines+markers" : "lines", x: mark.x, y: mark.y, name: plain(short(mark.label, 44)), legendgroup: `g${mark.group}`,
      line: { color: tone, width, dash }, marker: { size: 6, symbol: SYMBOLS[mark.group % SYMBOLS.length] }, showlegend: mark.style === "", opacity: mark.style === "fan" ? 0.75 : 1,
      text: names.map(plain), customdata: mark.x.map((v) => plain(told(panel.x, v))),
      hovertemplate: `${mark.human ? "people, " : ""}%{text}<br>%{customdata}, %{y:.3g}<extra></extra>`,
    });
    if (mark.marked) {
      traces.push({
        type: "scatter", mode: "markers", x: mark.marked.map((i) => mark.x[i]), y: mark.marked.map((i) => mark.y[i]), showlegend: false, legendgroup: `g${mark.group}`,
        marker: { size: 5, color: tone }, hoverinfo: "skip",
      });
    }
    if (mark.doubtful && mark.doubtful.length) {
      traces.push({
        type: "scatter", mode: "markers", x: mark.doubtful.map((i) => mark.x[i]), y: mark.doubtful.map((i) => mark.y[i]), showlegend: false,
        marker: { symbol: "circle", size: 6, color: colour("--raised"), line: { width: 1.2, color: tone } }, hovertemplate: `${plain(mark.label)}: out of the range tested<extra></extra>`,
      });
    }
    return traces;
  }

  // How far ends are from the values, as Plotly wants intervals.
  function whiskers(mark, tone) {
    const apart = (ends, sign) => ends.map((end, i) => (end === null || mark.y[i] === null ? 0 : sign * (end - mark.y[i])));
    return { type: "data", symmetric: false, thickness: 1.2, width: 3, color: tone, array: apart(mark.high, 1), arrayminus: apart(mark.low, -1) };
  }

  function points(mark, panel) {
    const shade = mark.colour && mark.colour.map((v) => (mark.colourAxis.log ? Math.log10(v) : v));
    const tone = mark.colour ? colour("--soft") : tint(mark.group, panel);
    const about = mark.x.map((v, i) => [plain(told(panel.x, v)), mark.colour ? brief(mark.colour[i]) : "", mark.low ? ` [${brief(mark.low[i])}, ${brief(mark.high[i])}]` : ""]);
    const single = mark.human
      ? { size: 10, color: tone, symbol: "circle", line: { width: 1.6, color: colour("--ink") } }
      : { size: panel.ordered ? 5 : 7, color: tone, symbol: panel.ordered ? "circle" : SYMBOLS[mark.group % SYMBOLS.length] };
    return [{
      type: "scatter", mode: "markers", x: mark.x, y: mark.y, customdata: about, name: plain(mark.label),
      ...(mark.low ? { error_y: whiskers(mark, mark.human ? colour("--ink") : tone) } : {}),
      marker: mark.colour ? {
        size: 5.5, color: shade, colorscale: "Viridis", line: { width: 0.5, color: colour("--soft") },
        colorbar: bar(mark.colourAxis.label, mark.colourAxis.log ? logTicks(mark.colour) : {}),
      } : single,
      ...(mark.names ? { text: mark.names.map(plain) } : {}),
      hovertemplate: `${mark.names ? "%{text}<br>" : mark.human ? `${plain(mark.label || "people")}<br>` : ""}${plain(panel.x.label)}: %{customdata[0]}<br>${plain(panel.y.label)}: %{y:.3g}%{customdata[2]}${mark.colour ? `<br>${plain(mark.colourAxis.label)}: %{customdata[1]}` : ""}<extra></extra>`,
    }];
  }

  function bars(mark, panel) {
    return [{
      type: "bar", x: mark.x, y: mark.y, name: plain(mark.label), marker: { color: tint(mark.group, panel) },
      error_y: whiskers(mark, colour("--ink")),
      text: mark.x.map((at) => plain(panel.x.ticks[at])), textposition: "none",
      hovertemplate: `%{text}, ${plain(mark.label)}: %{y:.3g}<extra></extra>`,
    }];
  }

  // On an axis of its own from 0 to 1, so that it reaches from top to bottom whatever the zoom.
  function vertical(mark, panel, context) {
    if (mark.at === null) return [];
    const tone = tint(mark.group, panel);
    const traces = [];
    if (mark.interval) {
      const [low, high] = mark.interval.map((end, i) => end ?? context.ends[i]);
      traces.push({ type: "scatter", mode: "lines", x: [low, low, high, high], y: [0, 1, 1, 0], yaxis: "y2", fill: "toself", fillcolor: `${tone}20`, line: { width: 0 }, hoverinfo: "skip", showlegend: false });
    }
    const steps = Array.from({ length: 21 }, (_, i) => i / 20);
    const interval = mark.interval ? ` [${mark.interval.map((end) => (end === null ? "open" : brief(end))).join(", ")}]` : "";
    traces.push({
      type: "scatter", mode: "lines", x: steps.map(() => mark.at), y: steps, yaxis: "y2", showlegend: false, line: { color: tone, width: 1.4, dash: mark.human ? "dash" : "solid" },
      hovertemplate: `${plain(mark.label)}: ${brief(mark.at)}${interval}<extra></extra>`,
    });
    return traces;
  }

  const DRAWERS = { surface, line, points, bars, vertical, gallery: () => [] };

  // Everything on a panel; context says how large it is and where its abscissa ends.
  function traces(panel, context = {}) {
    const onSurface = panel.marks.some((mark) => mark.type === "surface");
    return panel.marks.flatMap((mark) => DRAWERS[mark.type](mark, panel, { width: 280, height: 250, ends: [0, 0], onSurface, ...context }));
  }

  function swatch(mark, panel) {
    const sample = document.createElement("i");
    const tone = mark.style === "guide" ? colour("--soft") : tint(mark.group, panel);
    if (mark.type === "points") sample.className = mark.human ? "dot people" : "dot";
    if (mark.type === "vertical") sample.className = "place";
    const gaps = mark.style === "guide" ? [2, 4] : [4, 6];
    const broken = mark.style === "guide" || (mark.human && mark.type === "line");
    sample.style.background = broken ? `repeating-linear-gradient(90deg, ${tone} 0 ${gaps[0]}px, transparent ${gaps[0]}px ${gaps[1]}px)` : tone;
    return sample;
  }

  // Whether a legend names a mark: one of a fan looks like the line it belongs to.
  const isNamed = (mark) => mark.label && mark.type !== "surface" && mark.style !== "fan" && mark.at !== null;

  function key(panel) {
    // People and observer have the same steps, which are named once; what has one colour is named together.
    const together = new Map();
    const curves = panel.marks.filter((mark) => mark.type !== "vertical" && mark.type !== "gallery" && !mark.style);
    const measured = new Set(curves.filter((mark) => !mark.human).map((mark) => mark.group));
    for (const mark of panel.marks.filter(isNamed)) {
      const again = mark.type === "line" && mark.human && measured.has(mark.group);
      if ((panel.ordered || panel.colours) && again) continue;
      const alone = !panel.colours || mark.style || mark.type === "vertical" || (mark.human && mark.type === "points");
      const same = alone ? `${mark.type} ${mark.group} ${mark.label} ${mark.human}` : `group ${mark.group}`;
      together.set(same, together.has(same) && !alone ? { ...mark, label: `${together.get(same).label}, ${mark.label}` } : mark);
    }
    const named = [...together.values()];
    if (panel.colours) named.sort((a, b) => a.group - b.group);
    const chips = named.map((mark) => {
      const chip = document.createElement("span");
      chip.append(swatch(mark, panel), mark.label);
      return chip;
    });
    const small = document.createElement("small");
    small.className = "chips";
    small.panel = panel;
    const open = panel.marks.some((mark) => mark.doubtful) ? ", open where out of the range tested" : "";
    const solid = curves.some((mark) => mark.type === "line" && mark.human) ? `People dashed, the observer solid${open}. ` : "";
    const thin = panel.marks.some((mark) => mark.style === "fan") ? "Thin lines: single runs. " : "";
    const what = panel.groups || (panel.marks.some((mark) => mark.group) ? "colours" : "");
    small.append(`${solid}${thin}${what ? `${capital(what)}: ` : ""}`, ...chips);
    return small;
  }

  // Whether anything on a panel must be explained.
  const hasKey = (panel) => Boolean(panel.groups) || panel.marks.some((mark) => isNamed(mark) && (mark.style === "guide" || mark.type === "vertical" || (mark.type === "points" && mark.human)));

  return { COLOURS, SYMBOLS, plain, short, isDark, colour, format, least, most, told, traces, key, hasKey };
})();
