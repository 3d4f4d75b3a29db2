"use strict";
// Axes: their ticks, and which values they reach from and to.
const Axes = (() => {
  const { plain, short, colour, least, most } = Marks;

  // Whole numbers instead of Plotly's powers and lone digits: 0.5, 1, 2, 5, 10.
  const ONE_TWO_FIVE = Array.from({ length: 17 }, (_, i) => [1, 2, 5].map((digit) => Number(`${digit}e${i - 8}`))).flat();
  // Pixels that a line of type and a letter take.
  const [LINE_PX, LETTER_PX] = [13, 6.2];

  // Names of positions, as many as there is room for; the others are told by pointing.
  function namedTicks(spec, range, px, which) {
    const [low, high] = [Math.max(0, Math.ceil(Math.min(...range))), Math.min(spec.ticks.length - 1, Math.floor(Math.max(...range)))];
    const every = Math.max(1, Math.ceil(((high - low + 1) * (which === "y" ? LINE_PX : LINE_PX + 2)) / px));
    const kept = spec.ticks.map((_, i) => i).filter((i) => i >= low && i <= high && (i - low) % every === 0);
    return { tickvals: kept, ticktext: kept.map((i) => plain(short(spec.ticks[i], 20))) };
  }

  function roundSteps(low, high) {
    const step = [1, 2, 5, 10].map((digit) => digit * 10 ** Math.floor(Math.log10((high - low) / 5))).find((each) => (high - low) / each <= 6);
    return Array.from({ length: 1 + Math.floor(high / step) - Math.ceil(low / step) }, (_, i) => Number(((Math.ceil(low / step) + i) * step).toPrecision(12)));
  }

  // Where an axis has its ticks; numbers that would stand on a name are left out.
  function ticksOf(spec, range, px, which) {
    if (spec.ticks && spec.ticks.length) return range ? namedTicks(spec, range, px, which) : namedTicks(spec, [0, spec.ticks.length], px, which);
    const named = spec.named || [];
    if (!spec.log && !named.length) return {};
    const at = (value) => (spec.log ? Math.log10(value) : value);
    const [low, high] = range ? [Math.min(...range), Math.max(...range)] : [-Infinity, Infinity];
    const [first, last] = (spec.numbers || [null, null]).map((end, i) => end ?? [-Infinity, Infinity][i]);
    const numbers = (spec.log ? ONE_TWO_FIVE : roundSteps(low, high)).filter((v) => !named.length || (v >= first * (1 - 1e-6) && v <= last * (1 + 1e-6)));
    // Whole decades before others, as long as labels do not stand on each other.
    const placed = named.map(([place, name]) => [at(place), name]);
    const isClear = (value, text) => !range || placed.every(([place, name]) => {
      const room = which === "y" ? LINE_PX : ((text.length + name.length) / 2 + 1) * LETTER_PX;
      return (Math.abs(at(value) - place) / (high - low)) * px >= room;
    });
    const digit = (v) => Number(v.toExponential()[0]);
    const labelled = new Set();
    for (const v of spec.log ? [...numbers].sort((a, b) => digit(a) - digit(b)) : numbers) {
      if (at(v) < low || at(v) > high || !isClear(v, String(v))) continue;
      if (spec.log) placed.push([at(v), String(v)]);
      labelled.add(v);
    }
    const texts = numbers.map((v) => (labelled.has(v) ? String(v) : ""));
    return { tickvals: [...numbers, ...named.map(([place]) => place)], ticktext: [...texts, ...named.map(([, name]) => plain(name))] };
  }

  function axis(spec, which, px, more = {}) {
    return {
      title: { text: plain(spec.label), font: { size: 12 }, standoff: 6 },
      type: spec.log ? "log" : "linear",
      gridcolor: colour("--line"), linecolor: colour("--soft"), zeroline: false, ticks: "outside",
      tickcolor: colour("--soft"), automargin: true, ...ticksOf(spec, more.range, px, which), ...more,
    };
  }

  function layout(more) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      font: { color: colour("--ink"), size: 11, family: "system-ui, sans-serif" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--ink") },
      margin: { l: 52, r: 12, t: 8, b: 40 }, showlegend: false, ...more,
    };
  }

  // A surface fills its axes; lines beside human ones share theirs with observers of the same people.
  const people = (panel) => JSON.stringify(panel.marks.filter((mark) => mark.human).map((mark) => mark.y));
  const sameAxis = (one, other) => one.label === other.label && one.log === other.log && one.reversed === other.reversed && !other.ticks.length;
  // Panels of one test that show the same quantity share its axis if each fills at least this part of it.
  const FILLED = 0.35;

  function valuesOn(name, panel) {
    const parts = name === "y" ? ["y", "low", "high"] : ["x"];
    const planes = panel.marks.filter((mark) => mark.type === "surface");
    const values = planes.length
      ? planes.flatMap((plane) => (plane.edges ? plane.edges[name === "x" ? 0 : 1] : plane[name]))
      : panel.marks.flatMap((mark) => (mark.type === "vertical" ? (name === "x" ? [mark.at] : []) : parts.flatMap((part) => mark[part] || [])));
    const spec = panel[name];
    return [...values, ...spec.named.map(([place]) => place)].filter((v) => v !== null && (v > 0 || !spec.log)).map((v) => (spec.log ? Math.log10(v) : v));
  }

  function alikeOn(name, panel, everybody, beside) {
    if (panel.marks.some((mark) => mark.type === "surface")) return [panel];
    // Several panels of one kind are parts of one measurement.
    if (beside.length > 1) return beside;
    const every = everybody.flat(2);
    if (panel.ordered || panel.marks.some((mark) => mark.type === "bars" || mark.human)) {
      return every.filter((other) => other.kind === panel.kind && people(other) === people(panel));
    }
    const same = every.filter((other) => sameAxis(panel[name], other[name]) && !other.marks.some((mark) => mark.type === "surface"));
    const found = same.map((other) => valuesOn(name, other)).filter((values) => values.length);
    const span = (values) => most(values) - least(values);
    return found.every((values) => span(values) >= FILLED * span(found.flat())) ? same : [panel];
  }

  function range(name, panel, everybody, beside) {
    const spec = panel[name];
    const turned = (ends) => ({ range: spec.reversed ? ends.reverse() : ends });
    if (spec.ticks.length) return turned([-0.5, spec.ticks.length - 0.5]);
    const alike = alikeOn(name, panel, everybody, beside);
    const values = alike.flatMap((other) => valuesOn(name, other));
    if (!values.length) return {};
    let [low, high] = [least(values), most(values)];
    if (panel.marks.some((mark) => mark.type === "bars")) return turned([Math.min(0, low), 1.04 * high]);
    const onSurface = panel.marks.some((mark) => mark.type === "surface");
    const fixed = [spec.low, spec.high].map((end) => (end === null || !spec.log ? end : Math.log10(end)));
    [low, high] = [fixed[0] ?? low, fixed[1] ?? high];
    if (low === high) [low, high] = [low - 0.3, high + 0.3];
    const room = fixed.map((end) => (onSurface ? 0 : (end === null ? 0.04 : 0.02) * (high - low)));
    return turned([low - room[0], high + room[1]]);
  }

  return { axis, layout, range, ticksOf };
})();
