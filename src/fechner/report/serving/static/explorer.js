// Sliders, the picture pixel for pixel, and the viewer's own screen.
import { freshPage, putParts } from "./parts.js";

const AFTER_MS = 60;

const form = document.getElementById("settings");
const picture = document.getElementById("picture");
const mistake = document.getElementById("mistake");
const stage = picture.parentElement;
const byId = (id) => document.getElementById(id);
const setting = (name) => form.elements[name];

// Sliders go from 0 to 1 over their range, by ratios where that is how people see.
function toValue(slider) {
  const { low, high, log, whole } = slider.dataset;
  const [a, b, t] = [Number(low), Number(high), Number(slider.value)];
  const value = log === "yes" ? a * (b / a) ** t : a + (b - a) * t;
  if (whole === "yes") return String(Math.round(value));
  const rounded = Number(value.toPrecision(log === "yes" ? 3 : 4));
  return String(Math.min(b, Math.max(a, log === "yes" ? rounded : Math.round(value))));
}

function toPlace(slider, text) {
  const [a, b, v] = [Number(slider.dataset.low), Number(slider.dataset.high), Number(text)];
  const share = slider.dataset.log === "yes" ? Math.log(v / a) / Math.log(b / a) : (v - a) / (b - a);
  return String(Math.min(1, Math.max(0, share)));
}

const sliders = [...form.querySelectorAll("[data-slides]")];
function moveSliders() {
  for (const slider of sliders) slider.value = toPlace(slider, setting(slider.dataset.slides).value);
}

// What a pattern does not have is put away; noise is achromatic.
const OF = {
  frequency: (pattern, mask) => pattern !== "disc" || mask === "grating",
  sigma: (pattern) => pattern === "gabor" || pattern === "disc",
  orientation: (pattern, mask) => ["gabor", "grating"].includes(pattern) || mask === "grating",
  phase: (pattern, mask) => ["gabor", "grating"].includes(pattern) || mask === "grating",
  direction: (pattern, mask) => pattern !== "noise" && mask !== "noise",
  mask_contrast: (pattern, mask) => mask !== "none",
};
function putAway() {
  for (const [name, has] of Object.entries(OF)) {
    const shown = has(setting("pattern").value, setting("mask").value);
    form.querySelector(`[data-setting="${name}"]`).hidden = !shown;
  }
  if (!OF.direction(setting("pattern").value, setting("mask").value)) setting("direction").value = "ach";
}

// Beside a mistake, nothing stands that is about what was shown before it.
function tell(sentence) {
  mistake.textContent = sentence;
  mistake.hidden = !sentence;
  stage.classList.toggle("old", Boolean(sentence));
  for (const part of document.querySelectorAll(".seen [data-part], #sizes")) part.hidden = Boolean(sentence);
}

let timer = 0;
let asked = new AbortController();
async function show() {
  asked.abort();
  asked = new AbortController();
  const query = new URLSearchParams(new FormData(form)).toString();
  const address = `${location.pathname}?${query}`;
  try {
    const { ok, page } = await freshPage(address, asked.signal);
    if (!ok) {
      tell(page.getElementById("sentence")?.textContent || "That cannot be shown.");
      return;
    }
    tell("");
    putParts(page);
    picture.src = page.getElementById("picture").getAttribute("src");
    history.replaceState(null, "", address);
    sizePicture();
  } catch (error) {
    if (error.name === "AbortError") return;
    tell("The server does not answer.");
  }
}

function changed() {
  putAway();
  describeScreen();
  clearTimeout(timer);
  timer = setTimeout(show, AFTER_MS);
}

form.addEventListener("input", (event) => {
  if (event.target.closest("#screen")) return;
  const slides = event.target.dataset.slides;
  if (slides) setting(slides).value = toValue(event.target);
  else moveSliders();
  changed();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  changed();
});

// One pixel of the picture is one pixel of the screen, whatever the zoom.
function sizePicture() {
  const side = Number(setting("size").value) / window.devicePixelRatio;
  if (!(side > 0) || picture.style.width === `${side}px`) return;
  picture.style.width = picture.style.height = `${side}px`;
  centrePicture();
}
// Where there is no room for all of it, its middle is in sight and the rest is scrolled to.
function centrePicture() {
  stage.scrollLeft = (stage.scrollWidth - stage.clientWidth) / 2;
  stage.scrollTop = (stage.scrollHeight - stage.clientHeight) / 2;
}
function watchZoom() {
  const now = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
  now.addEventListener("change", () => { sizePicture(); watchZoom(); }, { once: true });
}

// The viewer's own screen stays with the viewer: it is not part of the address.
const KEPT = "fechner-screen";
function keepScreen() {
  const values = {
    side: byId("screen-side").value, cm: byId("screen-cm").value,
    px: byId("screen-px").value, distance: byId("screen-distance").value,
  };
  try { localStorage.setItem(KEPT, JSON.stringify(values)); } catch { /* not kept, then */ }
}
function recallScreen() {
  const across = Math.round(screen.width * window.devicePixelRatio);
  const guess = { side: "width", cm: (screen.width / 96 * 2.54).toFixed(1), px: across, distance: 60 };
  let kept = {};
  try { kept = JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { /* none was kept */ }
  const values = { ...guess, ...kept };
  for (const [name, value] of Object.entries(values)) {
    const field = byId(`screen-${name}`);
    if (field) field.value = value;
  }
}

function measureScreen() {
  const [cm, px, distance] = ["screen-cm", "screen-px", "screen-distance"].map((id) => Number(byId(id).value));
  if (!(cm > 0 && px > 0 && distance > 0)) return null;
  const diagonal = Math.hypot(1, screen.height / screen.width);
  const width = byId("screen-side").value === "diagonal" ? cm / diagonal : cm;
  const perCm = px / width;
  // A degree in the middle of the screen, seen from the distance.
  return { perCm, ppd: perCm * 2 * distance * Math.tan(Math.PI / 360), distance };
}

function describeScreen() {
  const own = measureScreen();
  const ppd = Number(setting("ppd").value);
  const size = Number(setting("size").value);
  const [low, high] = [Number(setting("ppd").min), Number(setting("ppd").max)];
  byId("use-screen").disabled = !own || own.ppd < low || own.ppd > high;
  byId("screen-ppd").textContent = own
    ? `At ${own.distance} cm your screen has ${own.ppd.toPrecision(3)} pixels per degree.` : "";
  let line = `It is drawn to fill ${(size / ppd).toPrecision(3)} degrees`;
  if (own) {
    const cm = size / own.perCm;
    const degrees = (2 * Math.atan(cm / 2 / own.distance) * 180) / Math.PI;
    line += `; on your screen it is ${cm.toPrecision(3)} cm wide and fills ${degrees.toPrecision(3)} degrees`;
  }
  byId("screen-size").textContent = `${line}.`;
}

byId("screen").addEventListener("input", () => { keepScreen(); describeScreen(); });
byId("use-screen").addEventListener("click", () => {
  const own = measureScreen();
  if (!own) return;
  setting("ppd").value = String(Number(own.ppd.toPrecision(4)));
  moveSliders();
  changed();
});

document.documentElement.classList.add("scripted");
recallScreen();
moveSliders();
putAway();
describeScreen();
sizePicture();
new ResizeObserver(centrePicture).observe(stage);
watchZoom();
