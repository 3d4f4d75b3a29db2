// Pages are drawn by the server alone: to bring one up to date, the parts of a fresh copy are put
// in place of the old ones, where they differ.
export async function freshPage(address, signal) {
  const answer = await fetch(address, { signal });
  const text = await answer.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  return { ok: answer.ok, page };
}

export function putParts(page) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const fresh = page.querySelector(`[data-part="${part.dataset.part}"]`);
    if (fresh && fresh.innerHTML !== part.innerHTML) {
      part.replaceChildren(...fresh.childNodes);
    }
  }
}
