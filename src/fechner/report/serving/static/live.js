// Follow a run: ask how far it is while the page is looked at; one that rests may be resumed, so it
// is asked about too, less often.
import { freshPage, putParts } from "./parts.js";

const EVERY_MS = 1500;
const AT_REST_MS = 10000;
const AFTER_SILENCE_MS = 5000;

const live = document.getElementById("live");
const silence = document.getElementById("silence");
let timer = 0;
let asking = false;

function showEndOfLog() {
  const log = document.querySelector(".log");
  if (log) log.scrollTop = log.scrollHeight;
}

const usualWait = () => (live.dataset.live === "yes" ? EVERY_MS : AT_REST_MS);

async function look() {
  if (asking) return;
  asking = true;
  let wait = AFTER_SILENCE_MS;
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
    live.dataset.live = state.live ? "yes" : "no";
    wait = usualWait();
    silence.hidden = true;
  } catch {
    silence.hidden = false;
  } finally {
    asking = false;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(look, wait);
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden) look();
});
showEndOfLog();
if (!document.hidden) timer = setTimeout(look, usualWait());
