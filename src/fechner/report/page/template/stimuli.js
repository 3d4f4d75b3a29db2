"use strict";
// Stimuli: clips as cycles of stills at the rate they have, and a loupe.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Nothing flickers before it is asked to, and one place at a time does.
  const playing = { button: null, tiles: [], frame: 0 };
  const pictures = new Map();
  async function pictureOf(tile) {
    const address = getComputedStyle(tile).backgroundImage.slice(5, -2);
    if (!pictures.has(address)) {
      const picture = new Image();
      picture.src = address;
      pictures.set(address, picture.decode().then(() => picture));
    }
    return pictures.get(address);
  }

  function stop() {
    cancelAnimationFrame(playing.frame);
    for (const tile of playing.tiles) tile.querySelector("canvas")?.remove();
    if (playing.button) {
      playing.button.setAttribute("aria-pressed", "false");
      playing.button.textContent = "▶ Play";
    }
    Object.assign(playing, { button: null, tiles: [], frame: 0 });
  }

  async function play(button, tiles) {
    stop();
    Object.assign(playing, { button, tiles });
    button.setAttribute("aria-pressed", "true");
    button.textContent = "❚❚ Pause";
    const picture = await pictureOf(tiles[0]);
    if (playing.tiles !== tiles) return;  // stopped meanwhile
    const clips = tiles.map((tile) => {
      const { cycle, hz, fps, slower, width, height, across } = tile.dataset;
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      tile.append(canvas);
      return { canvas, pen: canvas.getContext("2d", { alpha: false }), cycle: cycle.split(" ").map(Number), hz, fps, slower, width, height, across, seen: -1 };
    });
    let start = null;
    const show = (now) => {
      start ??= now;
      for (const clip of clips) {
        // The frame that observers are shown at that time, and where in the cycle it is.
        const frame = Math.floor((((now - start) / 1000) * clip.fps) / clip.slower);
        const step = Math.round(((frame * clip.hz) / clip.fps) * clip.cycle.length) % clip.cycle.length;
        const tile = clip.cycle[step];
        if (tile === clip.seen) continue;
        clip.seen = tile;
        clip.canvas.dataset.tile = tile;
        const [left, top] = [(tile % clip.across) * clip.width, Math.floor(tile / clip.across) * clip.height];
        clip.pen.drawImage(picture, left, top, clip.width, clip.height, 0, 0, clip.width, clip.height);
      }
      playing.frame = requestAnimationFrame(show);
    };
    playing.frame = requestAnimationFrame(show);
  }

  for (const section of all(".test")) {
    const clips = all(".stimulus[data-cycle]", section);
    for (const tile of clips) Object.assign(tile.dataset, { width: section.dataset.width, height: section.dataset.height, across: section.dataset.across });
    const button = section.querySelector(".play");
    if (!button) continue;
    button.hidden = false;
    button.addEventListener("click", () => (playing.button === button ? stop() : play(button, clips)));
  }
  matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", stop);

  // One pixel on one pixel.
  const loupe = document.getElementById("loupe");
  const screen = loupe.querySelector("div");
  const playLoupe = loupe.querySelector(".play");
  for (const picture of all(".stimulus")) {
    picture.addEventListener("click", () => {
      const section = picture.closest(".test");
      const [width, height] = [section.dataset.width / devicePixelRatio, section.dataset.height / devicePixelRatio];
      stop();
      screen.className = section.dataset.sprite;
      screen.style.cssText = `width:${width}px;height:${height}px;background-position:${picture.style.backgroundPosition}`;
      for (const name of Object.keys(screen.dataset)) delete screen.dataset[name];
      Object.assign(screen.dataset, picture.dataset);
      playLoupe.parentElement.hidden = !picture.dataset.cycle;
      loupe.querySelector("p").textContent = picture.title.split(": press")[0];
      loupe.showModal();
    });
  }
  playLoupe.addEventListener("click", () => (playing.button === playLoupe ? stop() : play(playLoupe, [screen])));
  loupe.addEventListener("close", stop);
  loupe.addEventListener("click", (event) => event.target === loupe && loupe.close());
})();
