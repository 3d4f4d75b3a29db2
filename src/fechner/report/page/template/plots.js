"use strict";
// Plots.
(async () => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const trouble = (text) => {
    const line = document.getElementById("trouble");
    line.textContent = text;
    line.hidden = false;
  };

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  let data;
  try {
    data = JSON.parse(await unpack("packed-data"));
    const script = document.createElement("script");
    script.textContent = await unpack("packed-plotly");
    document.head.append(script);
  } catch (error) {
    trouble(`Plots cannot be shown by this browser (${error.message}); the tables are complete.`);
    document.documentElement.dataset.ready = "tables";
    return;
  }
  const Plotly = window.Plotly;

  // Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7fd0", "#999999"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon"];
  // Parts of viridis that stand out on a light and on a dark ground.
  const RAMPS = {
    light: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#4fb457", "#86ac26", "#b59f10"],
    dark: ["#9a7fe0", "#7d8fe0", "#55a3d8", "#35b4c4", "#2fbfa0", "#4dcb7a", "#86d549", "#c2df23", "#fde725"],
  };
  // Plotly reads a few tags in text; names are plain text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, length = 34) => (text.length > length ? `${text.slice(0, length / 2 - 1)}…${text.slice(-length / 2 + 1)}` : text);
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const format = (value) => (value === null || value === undefined ? "n/a" : Number(value).toPrecision(3));

  // Whole numbers instead of Plotly's powers and lone digits: 0.5, 1, 2, 5, 10.
  const ONE_TWO_FIVE = Array.from({ length: 17 }, (_, i) => [1, 2, 5].map((digit) => Number(`${digit}e${i - 8}`))).flat();
  const LOG_TICKS = { tickvals: ONE_TWO_FIVE, ticktext: ONE_TWO_FIVE.map(String) };

  function axis(spec, more = {}) {
    return {
      title: { text: plain(spec.label), font: { size: 12 }, standoff: 6 },
      type: spec.log ? "log" : "linear",
      gridcolor: colour("--line"), linecolor: colour("--soft"), zeroline: false, ticks: "outside",
      tickcolor: colour("--soft"), automargin: true, ...(spec.log ? LOG_TICKS : {}),
      ...(spec.ticks && spec.ticks.length ? { tickvals: spec.ticks.map((_, i) => i), ticktext: spec.ticks.map((t) => plain(short(t, 20))) } : {}),
      ...more,
    };
  }

  function layout(more) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { color: colour("--ink"), size: 11, family: "system-ui, sans-serif" },
      margin: { l: 52, r: 12, t: 8, b: 40 }, showlegend: false, ...more,
    };
  }

  function logTicks(values) {
    const known = values.filter((v) => v !== null && v > 0);
    const [low, high] = [Math.log10(Math.min(...known)), Math.log10(Math.max(...known))];
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

  function surface(mark, panel) {
    const flat = mark.z.flat().filter((v) => v !== null && (!mark.log || v > 0));
    if (!flat.length) return [];
    const least = Math.min(...flat);
    const shade = (v) => (v === null ? null : mark.log ? Math.log10(Math.max(v, least)) : v);
    const ends = mark.low === null ? {} : { zauto: false, zmin: shade(mark.low), zmax: shade(mark.high) };
    // What has names has no values in between.
    if (panel.x.ticks.length && panel.y.ticks.length) {
      return [{
        type: "heatmap", x: mark.x, y: mark.y, z: mark.z.map((row) => row.map(shade)), colorscale: "Viridis", xgap: 1, ygap: 1, ...ends,
        text: mark.z.map((row) => row.map((v) => (v === null ? "" : v.toFixed(2)))), texttemplate: "%{text}", hoverongaps: false,
        customdata: mark.z.map((row, j) => row.map((v, i) => `${plain(panel.x.ticks[i])}, ${plain(panel.y.ticks[j])}<br>${plain(mark.label)}: ${format(v)}`)),
        colorbar: { thickness: 9, outlinewidth: 0, title: { text: plain(mark.label), side: "right", font: { size: 11 } } },
        hovertemplate: "%{customdata}<extra></extra>",
      }];
    }
    const traces = [{
      type: "contour", x: mark.x, y: mark.y, z: mark.z.map((row) => row.map(shade)), customdata: mark.z,
      colorscale: "Viridis", ncontours: 14, contours: { coloring: "heatmap" }, line: { width: 0.5, color: "rgba(255,255,255,.45)" },
      colorbar: { thickness: 9, outlinewidth: 0, title: { text: plain(mark.label), side: "right", font: { size: 11 } }, ...(mark.log ? logTicks(flat) : {}) },
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

  // Steps of one quantity have a ramp; kinds have colours of their own.
  function tint(group, panel) {
    if (panel.colours) return panel.colours[isDark() ? 1 : 0][group];
    if (!panel.ordered) return COLOURS[group % COLOURS.length];
    const groups = 1 + Math.max(...panel.marks.map((mark) => mark.group));
    const ramp = RAMPS[isDark() ? "dark" : "light"];
    const at = (group / Math.max(1, groups - 1)) * (ramp.length - 1);
    const [one, other] = [ramp[Math.floor(at)], ramp[Math.min(Math.ceil(at), ramp.length - 1)]];
    const mixed = [1, 3, 5].map((i) => {
      const [a, b] = [one, other].map((hex) => parseInt(hex.slice(i, i + 2), 16));
      return Math.round(a + (b - a) * (at % 1)).toString(16).padStart(2, "0");
    });
    return `#${mixed.join("")}`;
  }

  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  function key(panel) {
    // People and observer have the same steps, which are named once; what has one colour is named together.
    const together = new Map();
    const measured = new Set(panel.marks.filter((mark) => !mark.human).map((mark) => mark.group));
    for (const mark of panel.marks) {
      if (!mark.label || mark.type === "surface" || ((panel.ordered || panel.colours) && mark.human && measured.has(mark.group))) continue;
      const same = panel.colours ? `group ${mark.group}` : `${mark.group} ${mark.label} ${mark.human}`;
      together.set(same, together.has(same) ? { ...mark, label: `${together.get(same).label}, ${mark.label}` } : mark);
    }
    const named = [...together.values()];
    if (panel.colours) named.sort((a, b) => a.group - b.group);
    const chips = named.map((mark) => {
      const chip = document.createElement("span");
      const swatch = document.createElement("i");
      const tone = tint(mark.group, panel);
      if (mark.type === "points") swatch.className = "dot";
      swatch.style.background = mark.human ? `repeating-linear-gradient(90deg, ${tone} 0 4px, transparent 4px 6px)` : tone;
      chip.append(swatch, mark.label);
      return chip;
    });
    const line = document.createElement("small");
    line.className = "chips";
    line.panel = panel;
    const open = panel.marks.some((mark) => mark.doubtful) ? ", open where out of the range tested" : "";
    const solid = panel.marks.some((mark) => mark.human) ? `People dashed, the observer solid${open}. ` : "";
    line.append(`${solid}${capital(panel.groups || "colours")}: `, ...chips);
    return line;
  }

  function line(mark, panel, context) {
    const tone = context.onSurface ? "#1c1d22" : tint(mark.group, panel);
    const turn = panel.ordered ? 0 : Math.floor(mark.group / COLOURS.length) % DASHES.length;
    const dash = mark.human ? "dash" : DASHES[turn];
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
      line: { color: tone, width: mark.human ? 2 : 2.2, dash }, marker: { size: 6, symbol: SYMBOLS[mark.group % SYMBOLS.length] },
      text: names.map(plain),
      hovertemplate: `${mark.human ? "people, " : ""}%{text}<br>%{x:.3g}, %{y:.3g}<extra></extra>`,
    });
    if (mark.doubtful && mark.doubtful.length) {
      traces.push({
        type: "scatter", mode: "markers", x: mark.doubtful.map((i) => mark.x[i]), y: mark.doubtful.map((i) => mark.y[i]), showlegend: false,
        marker: { symbol: "circle", size: 6, color: colour("--raised"), line: { width: 1.2, color: tone } }, hovertemplate: `${plain(mark.label)}: out of the range tested<extra></extra>`,
      });
    }
    return traces;
  }

  function points(mark, panel) {
    const shade = mark.colour && mark.colour.map((v) => (mark.colourAxis.log ? Math.log10(v) : v));
    return [{
      type: "scatter", mode: "markers", x: mark.x, y: mark.y, customdata: mark.colour || [], name: plain(mark.label),
      marker: mark.colour ? {
        size: 5.5, color: shade, colorscale: "Viridis", line: { width: 0.5, color: colour("--soft") },
        colorbar: { thickness: 9, outlinewidth: 0, title: { text: plain(mark.colourAxis.label), side: "right", font: { size: 11 } }, ...(mark.colourAxis.log ? logTicks(mark.colour) : {}) },
      } : { size: panel.ordered ? 5 : 7, color: tint(mark.group, panel), symbol: panel.ordered ? "circle" : SYMBOLS[mark.group % SYMBOLS.length] },
      hovertemplate: `${plain(panel.x.label)}: %{x:.3g}<br>${plain(panel.y.label)}: %{y:.3g}${mark.colour ? `<br>${plain(mark.colourAxis.label)}: %{customdata:.3g}` : ""}<extra></extra>`,
    }];
  }

  function bars(mark, panel) {
    const apart = (ends, sign) => ends.map((end, i) => (end === null || mark.y[i] === null ? 0 : sign * (end - mark.y[i])));
    return [{
      type: "bar", x: mark.x, y: mark.y, name: plain(mark.label), marker: { color: tint(mark.group, panel) },
      error_y: { type: "data", symmetric: false, thickness: 1.2, width: 3, color: colour("--ink"), array: apart(mark.high, 1), arrayminus: apart(mark.low, -1) },
      text: mark.x.map((at) => plain(panel.x.ticks[at])), textposition: "none",
      hovertemplate: `%{text}, ${plain(mark.label)}: %{y:.3g}<extra></extra>`,
    }];
  }

  function traces(panel) {
    const onSurface = panel.marks.some((mark) => mark.type === "surface");
    const drawers = { surface, line, points, bars };
    return panel.marks.flatMap((mark) => drawers[mark.type](mark, panel, { onSurface }));
  }

  const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], displayModeBar: "hover" };

  // Zooming one panel of a kind zooms all observers' panels of that kind.
  const zooms = new Map();
  function link(canvas, key) {
    canvas.on("plotly_relayout", (change) => {
      if (canvas.following) return;
      const ranges = {};
      for (const name of ["xaxis", "yaxis"]) {
        if (`${name}.autorange` in change) ranges[`${name}.autorange`] = true;
        else if (`${name}.range[0]` in change) ranges[`${name}.range`] = [change[`${name}.range[0]`], change[`${name}.range[1]`]];
        else if (`${name}.range` in change) ranges[`${name}.range`] = change[`${name}.range`];
      }
      if (!Object.keys(ranges).length) return;
      const state = { ...(zooms.get(key) || {}) };
      for (const [name, value] of Object.entries(ranges)) {
        const which = name.split(".")[0];
        for (const old of Object.keys(state)) if (old.startsWith(which)) delete state[old];
        if (!name.endsWith("autorange")) state[name] = value;
      }
      zooms.set(key, state);
      for (const other of all(".canvas.drawn")) if (other !== canvas && other.zoomKey === key) follow(other, ranges);
    });
  }
  async function follow(canvas, ranges) {
    canvas.following = true;
    await Plotly.relayout(canvas, ranges);
    canvas.following = false;
  }

  // Small pictures of the stimuli under the axis, where they stand on it.
  function placeStimuli(canvas, section, row) {
    const strip = canvas.parentElement.querySelector(".axis-stimuli");
    if (!strip) return;
    const { xaxis, _size: size } = canvas._fullLayout;
    const [at, icons] = [JSON.parse(section.dataset.at), JSON.parse(section.dataset.icons)[row]];
    const shape = `${section.dataset.width} / ${section.dataset.height}`;
    let last = -Infinity;
    strip.replaceChildren(...at.flatMap((value, column) => {
      if (value === null) return [];
      const x = xaxis.l2p(xaxis.d2l(value));
      if (!(x >= 0 && x <= xaxis._length) || x - last < 38) return [];
      last = x;
      const icon = document.createElement("i");
      icon.className = section.dataset.sprite;
      icon.style.cssText = `left: ${size.l + x}px; aspect-ratio: ${shape}; background-position: ${icons[column]}`;
      return [icon];
    }));
  }

  // A surface fills its axes; lines beside human ones share theirs with observers of the same people.
  const people = (panel) => JSON.stringify(panel.marks.filter((mark) => mark.human).map((mark) => mark.y));
  function range(name, panel, everybody, beside) {
    const ticks = panel[name].ticks.length;
    if (ticks) return { range: [-0.5, ticks - 0.5] };
    const plane = panel.marks.find((mark) => mark.type === "surface");
    const fromZero = panel.marks.some((mark) => mark.type === "bars");
    if (!plane && !panel.ordered && !fromZero && !panel.marks.some((mark) => mark.human)) return {};
    // Several panels of one kind are parts of one measurement.
    const alike = beside.length > 1 ? beside : everybody.flat(2).filter((other) => other.kind === panel.kind && people(other) === people(panel));
    const parts = name === "y" ? ["y", "low", "high"] : ["x"];
    const values = plane ? plane[name] : alike.flatMap((other) => other.marks.flatMap((mark) => parts.flatMap((part) => mark[part] || [])));
    const ends = values.filter((v) => v !== null && (v > 0 || !panel[name].log)).map((v) => (panel[name].log ? Math.log10(v) : v));
    if (!ends.length) return {};
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    if (fromZero) return { range: [Math.min(0, low), 1.04 * high] };
    const room = plane ? 0 : 0.04 * (high - low);
    return { range: [low - room, high + room] };
  }

  // Labels of more than two decades would stand on each other.
  const sparse = (spec, more) => (spec.log && more.range && more.range[1] - more.range[0] > 2
    ? { ...more, ticktext: ONE_TWO_FIVE.map((v) => (v.toExponential()[0] === "1" ? String(v) : "")) } : more);

  function drawPanel(figure) {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const section = figure.closest(".test");
    const { contender, kind, part } = figure.dataset;
    const place = Number(figure.querySelector("select")?.value ?? figure.dataset.place);
    const beside = (chapter.panels[section.dataset.test][contender][place] || []).filter((panel) => panel.kind === kind);
    const found = beside[part];
    const canvas = figure.querySelector(".canvas");
    const score = chapter.scores[section.dataset.test][contender][place];
    const said = figure.querySelector(".score");
    if (said) said.textContent = score ? `${format(score[0])} [${format(score[1])}, ${format(score[2])}]` : "";
    if (!found) return;
    const zoomKey = `${figure.closest(".chapter").dataset.chapter} ${section.dataset.test} ${kind}`;
    const everybody = chapter.panels[section.dataset.test];
    const specification = layout({ xaxis: axis(found.x, sparse(found.x, range("x", found, everybody, beside))), yaxis: axis(found.y, sparse(found.y, range("y", found, everybody, beside))) });
    canvas.zoomKey = zoomKey;
    Plotly.react(canvas, traces(found), specification, CONFIG).then(() => {
      if (!canvas.classList.contains("drawn")) {
        canvas.classList.add("drawn");
        link(canvas, zoomKey);
        canvas.on("plotly_afterplot", () => placeStimuli(canvas, section, found.row));
      }
      placeStimuli(canvas, section, found.row);
      const state = zooms.get(zoomKey);
      if (state && Object.keys(state).length) follow(canvas, state);
    });
  }

  // On paper and on a phone, legends stand below.
  let printing = false;
  function setPrinting(now) {
    printing = now;
    document.documentElement.classList.toggle("printing", now);
  }
  const fit = () => all(".canvas.drawn").forEach((canvas) => Plotly.Plots.resize(canvas));
  const isWide = (figure) => figure.clientWidth > 700 && !printing;

  function drawDepth(figure) {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const panel = chapter.depth[figure.closest(".test").dataset.test];
    const canvas = figure.querySelector(".canvas");
    const wide = isWide(figure);
    Plotly.react(canvas, traces(panel), layout({
      xaxis: axis(panel.x), yaxis: axis(panel.y), showlegend: true,
      legend: wide ? { groupclick: "togglegroup" } : { orientation: "h", y: -0.25, groupclick: "togglegroup" },
    }), CONFIG).then(() => canvas.classList.add("drawn"));
  }

  function drawProfile(figure) {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const names = chapter.tests.map((test) => test.id);
    const wide = isWide(figure);
    const shown = chapter.standings.map((standing, number) => {
      const known = standing.distances.map((cell) => cell || [null, null, null]);
      const spread = (chapter.standings.length > 1 ? (number / (chapter.standings.length - 1) - 0.5) * Math.min(0.4, 0.08 * chapter.standings.length) : 0);
      const near = known.map(([d]) => (d === null ? null : 1 - d));
      return {
        type: "scatter", mode: "lines+markers", x: names.map((_, i) => i + spread), y: near, name: plain(short(standing.label, wide ? 40 : 26)),
        visible: number < 8 ? true : "legendonly", line: { color: COLOURS[number % COLOURS.length], width: 1, dash: "dot" },
        marker: { size: 8, symbol: SYMBOLS[number % SYMBOLS.length], color: COLOURS[number % COLOURS.length] },
        error_y: { type: "data", symmetric: false, thickness: 1, width: 2, array: known.map(([d, low]) => (low === null ? 0 : d - low)), arrayminus: known.map(([d, , high]) => (high === null ? 0 : high - d)) },
        text: names.map((name) => `${plain(standing.label)}<br>${plain(name)}`), hovertemplate: "%{text}: %{y:.3f}<extra></extra>",
      };
    });
    const canvas = figure.querySelector(".canvas");
    Plotly.react(canvas, shown, layout({
      xaxis: axis({ label: "" }, { tickvals: names.map((_, i) => i), ticktext: names.map(plain), tickangle: wide ? "auto" : -60, range: [-0.5, names.length - 0.5] }),
      yaxis: axis({ label: "closeness to human" }), showlegend: chapter.standings.length > 1,
      legend: wide ? {} : { orientation: "h", y: -0.6 },
      shapes: [0, 1].map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: colour("--soft"), width: 1, dash: y ? "solid" : "dot" } })),
    }), CONFIG).then(() => canvas.classList.add("drawn"));
  }

  function drawReadouts(figure) {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const panel = chapter.readouts[figure.closest(".test").dataset.test][figure.dataset.number];
    const canvas = figure.querySelector(".canvas");
    const specification = layout({ xaxis: axis(panel.x, { ...range("x", panel, [], []), tickangle: "auto" }), yaxis: axis(panel.y, range("y", panel, [], [])) });
    Plotly.react(canvas, traces(panel), specification, CONFIG).then(() => canvas.classList.add("drawn"));
  }

  const draw = (figure) => ({ panel: drawPanel, depth: drawDepth, readouts: drawReadouts, profile: drawProfile })[figure.dataset.plot](figure);

  const HEADINGS = { surface: "People dashed; the observer's own contour through the human threshold where people are most sensitive, orange; × cannot be shown as meant. Zoom is linked.", directions: "Level is human: dashed lines are level, at the mean response.", curves: "People's curves are scaled to the observer's by one factor." };

  // A score is of the whole test: only the first of an observer's cards says it.
  function card(chapter, section, number, kind, part, example, first) {
    const contender = chapter.contenders[number];
    const figure = document.createElement("figure");
    figure.className = "plot";
    // An observer may recognise at another place than it is compared at.
    const every = contender.places.map((_, index) => index);
    const scored = every.filter((index) => chapter.scores[section.dataset.test][number][index]);
    const places = scored.length ? scored : every;
    Object.assign(figure.dataset, { plot: "panel", contender: number, kind, part, place: places[0] });
    const caption = document.createElement("figcaption");
    const name = document.createElement("b");
    name.textContent = contender.label;
    name.title = contender.label;
    const below = document.createElement("div");
    if (first) below.append(Object.assign(document.createElement("span"), { className: "score" }));
    caption.append(name, below);
    figure.append(caption);
    if (places.length > 1) {
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", "Layer and read-out");
      for (const index of places) choice.append(new Option(contender.places[index].join(", "), index));
      choice.addEventListener("change", () => {
        for (const other of all(`figure[data-contender="${number}"] select`, section)) other.value = choice.value;
        for (const other of all(`figure[data-contender="${number}"]`, section)) draw(other);
      });
      below.append(choice);
    }
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    figure.append(canvas);
    if (example.stimuli) {
      const strip = document.createElement("div");
      strip.className = "axis-stimuli";
      figure.append(strip);
    }
    return figure;
  }

  for (const main of all(".chapter")) {
    const chapter = data[main.dataset.chapter];
    // Cards stand in the order of the table.
    const order = [...new Set(all(".leaderboard tr[data-contender]", main).map((row) => Number(row.dataset.contender)))];
    for (const section of all(".test", main)) {
      const own = chapter.panels[section.dataset.test];
      const every = own.flatMap((places) => places.flat());
      const kinds = [...new Set(every.map((panel) => panel.kind))];
      const room = section.querySelector(".panels");
      const parts = (panels, kind) => panels.filter((panel) => panel.kind === kind);
      const scored = new Set();
      for (const kind of kinds) {
        const many = Math.max(...own.flatMap((places) => places.map((panels) => parts(panels, kind).length)));
        for (let part = 0; part < many; part += 1) {
          const alike = own.flatMap((places) => places.flatMap((panels) => parts(panels, kind)[part] || []));
          // Whoever has most to show stands for all.
          const example = alike.reduce((most, panel) => (panel.marks.length > most.marks.length ? panel : most));
          const heading = document.createElement("h4");
          heading.textContent = `${alike[alike.length - 1].title} `;
          if (HEADINGS[kind] && part === 0) heading.append(Object.assign(document.createElement("small"), { textContent: `${HEADINGS[kind]} ` }));
          if (example.groups) heading.append(key(example));
          room.append(heading);
          for (const number of order) {
            if (!own[number].some((panels) => parts(panels, kind)[part])) continue;
            room.append(card(chapter, section, number, kind, part, example, !scored.has(number)));
            scored.add(number);
          }
        }
      }
      const maps = chapter.readouts[section.dataset.test];
      if (maps.length) {
        const heading = document.createElement("h4");
        heading.textContent = maps[0].title;
        section.querySelector(".readouts").append(heading, ...maps.map((panel, number) => {
          const figure = Object.assign(document.createElement("figure"), { className: "plot" });
          Object.assign(figure.dataset, { plot: "readouts", number, contender: chapter.contenders.findIndex((each) => each.label === panel.label) });
          const caption = document.createElement("figcaption");
          caption.append(Object.assign(document.createElement("b"), { textContent: panel.label, title: panel.label }));
          figure.append(caption, Object.assign(document.createElement("div"), { className: "canvas" }));
          return figure;
        }));
      }
      const depth = chapter.depth[section.dataset.test];
      if (depth) {
        const figure = section.querySelector(".depth");
        figure.hidden = false;
        figure.querySelector("figcaption").textContent = `${depth.title}, with 95 % intervals; point at a mark for its layer.`;
      }
    }
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "500px" });
  for (const figure of all("figure.plot")) seen.observe(figure);

  function redraw() {
    for (const line of all(".chips")) line.replaceWith(key(line.panel));
    for (const canvas of all(".canvas.drawn")) draw(canvas.parentElement);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  window.addEventListener("beforeprint", () => {
    setPrinting(true);
    for (const part of all("details")) part.open = !part.parentElement.closest("details");
    for (const figure of all("figure.plot")) if (!figure.hidden) draw(figure);
    fit();
  });
  window.addEventListener("afterprint", () => {
    setPrinting(false);
    redraw();
    fit();
  });
  document.documentElement.dataset.ready = "plots";
})();
