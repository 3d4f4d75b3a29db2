// Recognition by people, with jsPsych: a sample for some frames, then a choice by digits.
// TRIALS (trials.js) has what every person is shown; what comes out is a CSV for `fechner people`.
"use strict";

const FIXATION_MS = 500;
const COLUMNS = ["observer", "test", "class", "level", "response", "correct", "chance", "picture",
  "trial", "rt_ms", "sample_ms", "frame_ms"];

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 1000 / 60;
}

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

async function loaded(file) {
  const image = new Image();
  image.src = file;
  await image.decode();
  return image;
}

// On a canvas a picture is drawn before it is seen: showing it costs a frame nothing.
async function onCanvas(file) {
  const image = await loaded(file);
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas;
}

// Show something for a time, counted in frames of the display; returns how long it was there.
async function flash(element, duration_ms, frame_ms) {
  const on = await frame();
  element.classList.remove("hidden");
  let now = on;
  while (now - on < duration_ms - frame_ms / 2) now = await frame();
  element.classList.add("hidden");
  return now - on;
}

class MatchToSample {
  static info = { name: "match-to-sample", version: "1.0.0", data: {}, parameters: {
    item: { type: jsPsychModule.ParameterType.OBJECT, default: undefined },
    duration_ms: { type: jsPsychModule.ParameterType.FLOAT, default: 50 },
    number: { type: jsPsychModule.ParameterType.INT, default: 0 },
  } };

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  async trial(display, { item, duration_ms, number }) {
    const [sample, ...pictures] = await Promise.all(
      [item.image, ...item.options.map((each) => each.image)].map((file) => file && onCanvas(file)));
    const cross = Object.assign(document.createElement("div"),
      { className: "cross", textContent: "+" });
    const place = Object.assign(document.createElement("div"), { className: "place" });
    place.style.width = `${sample.width}px`;
    place.style.height = `${sample.height}px`;
    sample.classList.add("hidden");
    place.append(cross, sample);
    display.replaceChildren(place);

    const times = [await frame()];
    while (times.at(-1) - times[0] < FIXATION_MS) times.push(await frame());
    const frame_ms = median(times.slice(1).map((time, i) => time - times[i]));
    cross.remove();
    const sample_ms = await flash(sample, duration_ms, frame_ms);

    const options = Object.assign(document.createElement("div"), { className: "options" });
    item.options.forEach((each, i) => {
      const option = Object.assign(document.createElement("div"), { className: "option" });
      const key = Object.assign(document.createElement("b"), { textContent: i + 1 });
      option.append(each.image ? pictures[i] : each.text, key);
      options.append(option);
    });
    await frame();
    display.replaceChildren(options);
    const info = await new Promise((resolve) => this.jsPsych.pluginAPI.getKeyboardResponse({
      callback_function: resolve,
      valid_responses: item.options.map((_, i) => String(i + 1)),
      rt_method: "performance",
      persist: false,
      allow_held_key: false,
    }));
    display.replaceChildren();
    const chosen = Number(info.key) - 1;
    this.jsPsych.finishTrial({
      test: item.test, class: item.class, level: item.level, chance: item.chance,
      picture: item.picture, trial: number, response: item.options[chosen].class,
      correct: Number(chosen === item.correct), rt_ms: info.rt,
      sample_ms: sample_ms.toFixed(2), frame_ms: frame_ms.toFixed(3),
    });
  }
}

function saved(jsPsych, person) {
  const cell = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const rows = jsPsych.data.get().filter({ trial_type: "match-to-sample" }).values();
  const lines = rows.map((row) =>
    COLUMNS.map((name) => cell(name === "observer" ? person : row[name])).join(","));
  return [COLUMNS.join(","), ...lines, ""].join("\n");
}

function offer(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.textContent = `Save ${name} again`;
  document.querySelector(".jspsych-content").append(link);
  link.click();
}

async function run(person) {
  const items = TRIALS.people[person];
  const jsPsych = initJsPsych();
  const pictures = [...new Set(items.flatMap((item) =>
    [item.image, ...item.options.map((each) => each.image)].filter(Boolean)))];
  const timeline = [{ type: jsPsychPreload, images: pictures, show_detailed_errors: true }];
  items.forEach((item, number) => {
    if (number === 0 || items[number - 1].task !== item.task) {
      timeline.push({ type: jsPsychHtmlKeyboardResponse, choices: [" "],
        stimulus: `<p>${TRIALS.instructions[item.task]}</p><p>Look at the cross. ` +
          "Press the space bar to begin.</p>" });
    }
    timeline.push({ type: MatchToSample, item, duration_ms: TRIALS.duration_ms,
      number: number + 1 });
  });
  // Data that are not saved yet are not to be lost by closing the page.
  const warn = (event) => event.preventDefault();
  window.addEventListener("beforeunload", warn);
  await jsPsych.run(timeline);
  window.removeEventListener("beforeunload", warn);
  const content = document.querySelector(".jspsych-content") ?? document.body;
  content.innerHTML = "<p>Thank you. Please hand on the file that was just saved.</p>";
  offer(saved(jsPsych, person), `${person}.csv`);
}

if (typeof initJsPsych !== "undefined") {
  const start = document.getElementById("start");
  const list = document.getElementById("person");
  list.replaceChildren(...Object.keys(TRIALS.people).map((name) => new Option(name)));
  const named = new URLSearchParams(location.search).get("person");
  if (named in TRIALS.people) list.value = named;
  document.getElementById("problem").remove();
  document.getElementById("choose").hidden = false;
  start.addEventListener("submit", (event) => {
    event.preventDefault();
    start.remove();
    run(list.value);
  });
}
