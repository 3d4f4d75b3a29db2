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

  const { COLOURS, SYMBOLS, plain, short, isDark, colour, format, traces, key, hasKey } = Marks;
  const { axis, layout, range, ticksOf } = Axes;

  const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], displayModeBar: "hover", doubleClick: "reset" };

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
      retick(canvas);
      for (const other of all(".canvas.drawn")) if (other !== canvas && other.zoomKey === key) follow(other, ranges);
    });
  }
  async function follow(canvas, ranges) {
    canvas.following = true;
    await Plotly.relayout(canvas, ranges);
    canvas.following = false;
    await retick(canvas);
  }

  // Nearer, there is room for more names and numbers.
  async function retick(canvas) {
    const change = {};
    for (const which of ["x", "y"]) {
      const { range: shown, _length: px } = canvas._fullLayout[`${which}axis`];
      const { tickvals, ticktext } = ticksOf(canvas.panel[which], shown, px, which);
      const before = canvas.layout[`${which}axis`];
      const isSame = String(tickvals) === String(before.tickvals) && String(ticktext) === String(before.ticktext);
      if (tickvals && !isSame) Object.assign(change, { [`${which}axis.tickvals`]: tickvals, [`${which}axis.ticktext`]: ticktext });
    }
    if (!Object.keys(change).length) return;
    canvas.following = true;
    await Plotly.relayout(canvas, change);
    canvas.following = false;
  }

  // Small pictures of the stimuli under the axis, where they stand on it: a row for each that the panel asks for.
  function placeStimuli(canvas, section) {
    const { panel } = canvas;
    const figure = canvas.parentElement;
    const strips = all(".axis-stimuli", figure);
    for (const strip of strips.slice(panel.strips.length)) strip.remove();
    while (strips.length < panel.strips.length) {
      strips.push(Object.assign(document.createElement("div"), { className: "axis-stimuli" }));
      figure.append(strips[strips.length - 1]);
    }
    const [everyAt, everyIcon, rows] = ["at", "icons", "rows"].map((name) => JSON.parse(section.dataset[name]));
    const { xaxis, _size: size } = canvas._fullLayout;
    const shape = `${section.dataset.width} / ${section.dataset.height}`;
    // What has no place on a logarithmic axis stands where the axis names it.
    const placed = (value) => (panel.x.log && value <= 0 ? panel.x.named[0]?.[0] : value);
    panel.strips.forEach((row, number) => {
      const shown = (everyAt[row] || []).map((value, column) => ({ column, x: value === null ? NaN : xaxis.l2p(xaxis.d2l(placed(value))) })).filter(({ x }) => x >= 0 && x <= xaxis._length);
      // The weakest is always there, on whichever side.
      shown.sort((a, b) => (panel.x.reversed ? b.x - a.x : a.x - b.x));
      let last = NaN;
      const icons = shown.flatMap(({ column, x }) => {
        if (Math.abs(x - last) < 38) return [];
        last = x;
        const icon = document.createElement("i");
        icon.className = section.dataset.sprite;
        icon.style.cssText = `left: ${size.l + x}px; aspect-ratio: ${shape}; background-position: ${everyIcon[row][column]}`;
        return [icon];
      });
      const name = Object.assign(document.createElement("span"), { textContent: rows[row], title: rows[row] });
      name.style.width = `${Math.max(0, size.l - 20)}px`;
      strips[number].replaceChildren(...(panel.strips.length > 1 ? [name] : []), ...icons);
    });
  }

  // Rows of a heat map have their names as long as it is not too high for a screen.
  const HIGHEST_PX = 620;
  function fitHeight(canvas, panel) {
    const rows = panel.marks.some((mark) => mark.edges) ? panel.y.ticks.length : 0;
    canvas.style.height = rows > 10 ? `${Math.min(printing ? 420 : HIGHEST_PX, 110 + 16 * rows)}px` : "";
  }

  const shownIn = (figure) => {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const { contender, kind, part, place } = figure.dataset;
    const everybody = chapter.panels[figure.closest(".test").dataset.test];
    const beside = (everybody[contender][place] || []).filter((panel) => panel.kind === kind);
    return { chapter, everybody, beside, panel: beside[part] };
  };

  function sayScore(figure) {
    const said = figure.querySelector(".score");
    if (!said) return;
    const { contender, place } = figure.dataset;
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const { test } = figure.closest(".test").dataset;
    const score = chapter.scores[test][contender][place];
    said.textContent = score ? `${chapter.main[test]} ${format(score[0])} [${format(score[1])}, ${format(score[2])}]` : "";
  }

  function drawPanel(figure) {
    const section = figure.closest(".test");
    const { chapter, everybody, beside, panel } = shownIn(figure);
    sayScore(figure);
    if (!panel) return;
    if (figure.classList.contains("gallery")) {
      drawGallery(figure, panel, chapter.pictures);
      return;
    }
    const canvas = figure.querySelector(".canvas");
    const isSmall = figure.classList.contains("small");
    fitHeight(canvas, panel);
    const zoomKey = `${figure.closest(".chapter").dataset.chapter} ${section.dataset.test} ${panel.kind}`;
    const [width, height] = [canvas.clientWidth - (isSmall ? 60 : 90), canvas.clientHeight - 55];
    const ranges = { x: range("x", panel, everybody, beside), y: range("y", panel, everybody, beside) };
    // A name at the end of the axis reaches beyond it.
    const reach = panel.x.reversed && panel.x.named.length ? 14 : 0;
    const spec = (name) => (isSmall ? { ...panel[name], label: "" } : panel[name]);
    const specification = layout({
      xaxis: axis(spec("x"), "x", width, ranges.x), yaxis: axis(spec("y"), "y", height, ranges.y),
      yaxis2: { overlaying: "y", range: [0, 1], visible: false, fixedrange: true },
      margin: isSmall ? { l: 34, r: 8 + reach, t: 4, b: 24 } : { l: 52, r: 12 + reach, t: 8, b: 40 },
    });
    const ends = (ranges.x.range || [0, 0]).map((end) => (panel.x.log ? 10 ** end : end)).sort((a, b) => a - b);
    canvas.zoomKey = zoomKey;
    canvas.panel = panel;
    Plotly.react(canvas, traces(panel, { width, height, ends }), specification, CONFIG).then(() => {
      if (!canvas.classList.contains("drawn")) {
        canvas.classList.add("drawn");
        link(canvas, zoomKey);
        canvas.on("plotly_afterplot", () => placeStimuli(canvas, section));
      }
      placeStimuli(canvas, section);
      retick(canvas);
      const state = zooms.get(zoomKey);
      if (state && Object.keys(state).length) follow(canvas, state);
    });
  }

  // Pictures with captions.
  function drawGallery(figure, panel, pictures) {
    const { items } = panel.marks.find((mark) => mark.type === "gallery");
    figure.querySelector(".tiles").replaceChildren(...items.map((item) => {
      const tile = document.createElement("figure");
      const gone = item.picture === null;
      const picture = gone
        ? Object.assign(document.createElement("p"), { className: "gone", textContent: "picture cannot be drawn any more" })
        : Object.assign(new Image(), { src: pictures[item.picture], alt: item.title });
      const caption = document.createElement("figcaption");
      caption.append(Object.assign(document.createElement("b"), { textContent: item.title, title: item.title }), Object.assign(document.createElement("span"), { textContent: item.text }));
      tile.append(picture, caption);
      return tile;
    }));
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
      xaxis: axis(panel.x, "x", canvas.clientWidth - 120), yaxis: axis(panel.y, "y", canvas.clientHeight - 60), showlegend: true,
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
      xaxis: axis({ label: "" }, "x", canvas.clientWidth, { tickvals: names.map((_, i) => i), ticktext: names.map(plain), tickangle: wide ? "auto" : -60, range: [-0.5, names.length - 0.5] }),
      yaxis: axis({ label: `closeness to ${chapter.best}` }, "y", canvas.clientHeight), showlegend: chapter.standings.length > 1,
      legend: wide ? {} : { orientation: "h", y: -0.6 },
      shapes: [0, 1].map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: colour("--soft"), width: 1, dash: y ? "solid" : "dot" } })),
    }), CONFIG).then(() => canvas.classList.add("drawn"));
  }

  function drawReadouts(figure) {
    const chapter = data[figure.closest(".chapter").dataset.chapter];
    const panel = chapter.readouts[figure.closest(".test").dataset.test][figure.dataset.number];
    const canvas = figure.querySelector(".canvas");
    const [width, height] = [canvas.clientWidth - 150, canvas.clientHeight - 70];
    const specification = layout({ xaxis: axis(panel.x, "x", width, { ...range("x", panel, [], []), tickangle: "auto" }), yaxis: axis(panel.y, "y", height, range("y", panel, [], [])) });
    Plotly.react(canvas, traces(panel, { width, height }), specification, CONFIG).then(() => canvas.classList.add("drawn"));
  }

  const draw = (figure) => ({ panel: drawPanel, depth: drawDepth, readouts: drawReadouts, profile: drawProfile })[figure.dataset.plot](figure);

  const HEADINGS = { surface: "People dashed; the observer's own contour through the human threshold where people are most sensitive, orange; × cannot be shown as meant. Zoom is linked.", directions: "Level is human: dashed lines are level, at the mean response.", curves: "People's curves are scaled to the observer's by one factor." };

  // More panels of one kind than this are small ones beside each other.
  const SINGLE = 5;

  const named = (contender, tag = "b") => Object.assign(document.createElement(tag), { textContent: contender.label, title: contender.label });

  // Where an observer was read out that has scores of a test.
  function placesOf(chapter, section, number) {
    // An observer may recognise at another place than it is compared at.
    const every = chapter.contenders[number].places.map((_, index) => index);
    const scored = every.filter((index) => chapter.scores[section.dataset.test][number][index]);
    return scored.length ? scored : every;
  }

  function chooser(chapter, section, number) {
    const places = placesOf(chapter, section, number);
    if (places.length < 2) return [];
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "Layer and read-out");
    for (const index of places) choice.append(new Option(chapter.contenders[number].places[index].join(", "), index));
    choice.addEventListener("change", () => {
      for (const other of all(`[data-contender="${number}"] select`, section)) other.value = choice.value;
      for (const other of all(`[data-contender="${number}"]`, section)) {
        other.dataset.place = choice.value;
        if (other.matches("figure")) draw(other);
        else sayScore(other);
      }
    });
    return [choice];
  }

  // A score is of the whole test: only the first of an observer's cards says it.
  function heading(chapter, section, number, first) {
    const below = document.createElement("div");
    if (first) below.append(Object.assign(document.createElement("span"), { className: "score" }));
    below.append(...chooser(chapter, section, number));
    return [named(chapter.contenders[number]), below];
  }

  function emptyCard(chapter, section, number, kind, part, isGallery) {
    const figure = document.createElement("figure");
    figure.className = isGallery ? "plot gallery" : "plot";
    Object.assign(figure.dataset, { plot: "panel", contender: number, kind, part, place: placesOf(chapter, section, number)[0] });
    const caption = document.createElement("figcaption");
    figure.append(caption, Object.assign(document.createElement("div"), { className: isGallery ? "tiles" : "canvas" }));
    return [figure, caption];
  }

  function card(chapter, section, number, kind, part, example, first) {
    const isGallery = example.marks.some((mark) => mark.type === "gallery");
    const [figure, caption] = emptyCard(chapter, section, number, kind, part, isGallery);
    caption.append(...heading(chapter, section, number, first));
    return figure;
  }

  // Small multiples: all panels of one kind that an observer has, under its name.
  function multiples(chapter, section, number, kind, panels, first) {
    const block = Object.assign(document.createElement("section"), { className: "multiples" });
    Object.assign(block.dataset, { contender: number, place: placesOf(chapter, section, number)[0] });
    const head = document.createElement("header");
    head.append(...heading(chapter, section, number, first));
    block.append(head, ...panels.map((panel, part) => {
      const [figure, caption] = emptyCard(chapter, section, number, kind, part, false);
      figure.classList.add("small");
      caption.append(Object.assign(document.createElement("b"), { textContent: panel.name || panel.title, title: panel.name || panel.title }));
      return figure;
    }));
    return block;
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
      const say = (alike, isFirst, isSmall) => {
        // Whoever has most to show stands for all.
        const example = alike.reduce((most, panel) => (panel.marks.length > most.marks.length ? panel : most));
        const line = document.createElement("h4");
        line.textContent = `${alike[alike.length - 1].title} `;
        if (isSmall) line.append(Object.assign(document.createElement("small"), { textContent: `${example.y.label} by ${example.x.label}. ` }));
        const isExplained = HEADINGS[example.kind] && isFirst && (example.kind === "directions" || example.marks.some((mark) => mark.type === "line" && mark.human));
        if (isExplained) line.append(Object.assign(document.createElement("small"), { textContent: `${HEADINGS[example.kind]} ` }));
        if (hasKey(example)) line.append(key(example));
        room.append(line);
        return example;
      };
      for (const kind of kinds) {
        const many = Math.max(...own.flatMap((places) => places.map((panels) => parts(panels, kind).length)));
        if (many > SINGLE) {
          say(parts(every, kind), true, true);
          for (const number of order) {
            const found = own[number].map((panels) => parts(panels, kind)).reduce((most, panels) => (panels.length > most.length ? panels : most), []);
            if (!found.length) continue;
            const block = multiples(chapter, section, number, kind, found, !scored.has(number));
            room.append(block);
            sayScore(block);
            scored.add(number);
          }
          continue;
        }
        for (let part = 0; part < many; part += 1) {
          const alike = own.flatMap((places) => places.flatMap((panels) => parts(panels, kind)[part] || []));
          const example = say(alike, part === 0, false);
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
