// Figures of a running campaign, refreshed while their page is visible.

const EVERY_MS = 20_000;
// Requests keep a session alive; a tab that nobody touches must not.
const IDLE_MS = 30 * 60_000;

let touched = Date.now();
for (const kind of ["pointermove", "keydown", "scroll", "focus"]) {
  addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
}

// An element with the focus, a selection or a checked box is not replaced until it has none.
function inUse(element) {
  const selection = getSelection();
  return element.contains(document.activeElement) || element.querySelector(":checked")
    || (selection.type === "Range" && selection.containsNode(element, true));
}

async function renew() {
  if (document.hidden || Date.now() - touched > IDLE_MS) return;
  const address = new URL(location.href);
  address.searchParams.set("live", "1");
  const response = await fetch(address, { redirect: "error" });
  if (!response.ok) return;
  let isNew = false;
  const renewed = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const element of renewed.querySelectorAll("[data-live]")) {
    const shown = document.querySelector(`[data-live="${element.dataset.live}"]`);
    if (!shown) isNew = true;
    else if (shown.innerHTML !== element.innerHTML && !inUse(shown)) shown.replaceChildren(...element.childNodes);
  }
  // The first figures, or those of another group.
  if (isNew) location.reload();
}

// Without a network, or once signed out, the page stays as it is.
setInterval(() => renew().catch(() => {}), EVERY_MS);
document.addEventListener("visibilitychange", () => renew().catch(() => {}));
