"use strict";
// The table of scores: sorting, filtering, colours, details.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (label, wanted) => wanted.every((word) => label.toLowerCase().includes(word));

  function filter(chapter) {
    const wanted = words(chapter.querySelector(".filter").value);
    const published = chapter.querySelector(".show-published")?.checked;
    const rows = all(".leaderboard tbody tr", chapter);
    for (const row of rows) {
      row.hidden = !matches(row.dataset.label, wanted) || (row.classList.contains("printed") && !published);
    }
    const kept = new Set(rows.filter((row) => !row.hidden && row.dataset.contender).map((row) => row.dataset.contender));
    for (const card of all("figure[data-contender], .multiples[data-contender]", chapter)) card.hidden = !kept.has(card.dataset.contender);
    for (const row of all(".numbers tbody tr", chapter)) row.hidden = !matches(row.dataset.label, wanted);
    const shown = rows.filter((row) => !row.hidden).length;
    chapter.querySelector(".count").textContent = shown === rows.length || !wanted.length ? "" : `${shown} shown`;
    chapter.querySelector(".leaderboard").classList.toggle("with-printed", Boolean(published));
    quarters(chapter);
  }

  // Which quarter of the rows shown a cell is in: 1 is the best. Equal scores share the better one.
  function quarters(chapter) {
    const by = chapter.querySelector(".colour-by").value;
    chapter.querySelector(".first").dataset.colour = by;
    const table = chapter.querySelector(".leaderboard");
    for (const cell of all("td[data-quartile]", table)) delete cell.dataset.quartile;
    if (by !== "quartile") return;
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    for (const heading of all("thead th[data-sort='number']", table)) {
      const sign = heading.dataset.better === "high" ? -1 : 1;
      const cells = rows.map((row) => row.cells[heading.cellIndex]);
      const known = cells.map((cell) => [sign * parseFloat(cell.dataset.value), cell]).filter(([value]) => !Number.isNaN(value));
      for (const [value, cell] of known) {
        const better = known.filter(([other]) => other < value).length;
        cell.dataset.quartile = 1 + Math.floor((4 * better) / known.length);
      }
    }
  }

  function sort(heading) {
    const table = heading.closest("table");
    const before = heading.getAttribute("aria-sort");
    // The first press puts the best on top: the largest where more is better.
    const first = heading.dataset.better === "high" ? "descending" : "ascending";
    const order = before === first ? (first === "ascending" ? "descending" : "ascending") : first;
    for (const other of all("th", heading.parentElement)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    arrange(table);
  }

  // Put rows in the order that the headings say.
  function arrange(table) {
    const heading = table.querySelector("th[aria-sort]");
    const column = heading.cellIndex;
    const numeric = heading.dataset.sort === "number";
    const sign = heading.getAttribute("aria-sort") === "ascending" ? 1 : -1;
    const value = {
      number: (row) => parseFloat(row.cells[column].dataset.value),
      text: (row) => row.cells[column].textContent,
      label: (row) => row.dataset.label,
    }[heading.dataset.sort];
    const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => {
      if (!numeric) return (a === "") - (b === "") || sign * a.localeCompare(b);
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return sign * (a - b);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  for (const chapter of all(".chapter")) {
    chapter.querySelector(".filter").addEventListener("input", () => filter(chapter));
    chapter.querySelector(".colour-by").addEventListener("change", () => quarters(chapter));
    quarters(chapter);  // browsers remember a choice
    chapter.querySelector(".show-published")?.addEventListener("change", () => {
      arrange(chapter.querySelector(".leaderboard"));
      filter(chapter);
    });
    for (const heading of all(".leaderboard thead th", chapter)) {
      heading.querySelector("button").addEventListener("click", () => sort(heading));
    }
    const line = chapter.querySelector(".detail");
    const tell = (event) => {
      const cell = event.target.closest("td[data-detail]");
      if (cell) line.textContent = `${cell.parentElement.cells[0].textContent.trim()}: ${cell.dataset.detail}`;
    };
    const table = chapter.querySelector(".leaderboard");
    for (const kind of ["mouseover", "focusin", "click"]) table.addEventListener(kind, tell);
  }
})();
