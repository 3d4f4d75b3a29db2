// Follow a run: ask how far it is while the page is looked at and the run goes on.
import { freshPage, putParts } from "./parts.js";

const EVERY_MS = 1500;
const AFTER_SILENCE_MS = 5000;

const live = document.getElementById("live");
const silence = document.getElementById("silence");
let timer = 0;
let asking = false;

function showEndOfLog() {
  const log = document.querySelector(".log");
  if (log) log.scrollTop = log.scrollHeight;
}

async function look() {
  if (asking) return;
  asking = true;
  let wait = EVERY_MS;
  let goesOn = true;
  try {
    const answer = await fetch(live.dataset.state, { cache: "no-store" });
    if (answer.status === 404) {
      location.reload();
      return;
    }
    const state = await answer.json();
    if (state.version !== live.dataset.version) {
      const { ok, page } = await freshPage(location.pathname);
      const fresh = page.getElementById("live");
      if (ok && fresh) {
        putParts(page);
        showEndOfLog();
        live.dataset.version = fresh.dataset.version;
      }
    }
    goesOn = state.live;
    live.dataset.live = state.live ? "yes" : "no";
    silence.hidden = true;
  } catch {
    silence.hidden = false;
    wait = AFTER_SILENCE_MS;
  } finally {
    asking = false;
  }
  clearTimeout(timer);
  if (goesOn && !document.hidden) timer = setTimeout(look, wait);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden) look();
});
showEndOfLog();
if (live.dataset.live === "yes" && !document.hidden) timer = setTimeout(look, EVERY_MS);
