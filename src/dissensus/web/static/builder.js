// Builder of campaigns: saves while somebody types, and keeps the preview and the faults up to date.

const WAIT_MS = 900;
const form = document.getElementById("builder");
const frame = document.getElementById("preview-frame");
const saved = document.getElementById("saved");
const text = document.getElementById("definition");
let timer = 0;
let saving = null;
let leaving = false;

const show = (message) => {
  if (saved) saved.textContent = message;
};

const body = () => {
  const data = new FormData(form);
  return form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
};

// The answer is the page itself: its faults and counts replace those here, what is typed stays.
const take = (page) => {
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = page.getElementById(part.id);
    if (next) part.replaceChildren(...next.childNodes);
  }
  const next = page.getElementById("revision");
  if (next) document.getElementById("revision").value = next.value;
};

const save = async () => {
  try {
    const response = await fetch(form.getAttribute("action"), { method: "POST", body: body() });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!response.ok) {
      show("Not saved. Press Save to see why.");
      return;
    }
    take(page);
    show("Saved");
    frame?.contentWindow.location.reload();
  } catch {
    show("Not saved: the site does not answer.");
  }
};

const later = () => {
  clearTimeout(timer);
  show("");
  timer = setTimeout(async () => {
    while (saving) await saving;
    if (leaving) return;
    saving = save().finally(() => {
      saving = null;
    });
  }, WAIT_MS);
};

// TOML is saved by its button, since half a line is not valid TOML.
if (!text) form.addEventListener("input", later);

form.addEventListener("submit", async (event) => {
  clearTimeout(timer);
  const again = leaving;
  leaving = true;
  if (!saving) return;
  // A save under way changes the revision that the form must send.
  event.preventDefault();
  if (again) return;
  const { submitter } = event;
  await saving;
  // A form cannot be sent while it handles the event of another submit.
  setTimeout(() => form.requestSubmit(submitter));
});

addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

for (const link of document.querySelectorAll(".preview [target='preview-frame']")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const name = "page" in link.dataset ? "page" : "language";
    for (const other of document.querySelectorAll(`.preview [data-${name}]`)) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    const address = new URL(frame.src);
    address.searchParams.set(name, link.dataset[name]);
    frame.src = address.href;
  });
}

if (text) {
  const gutter = document.querySelector(".gutter");
  text.addEventListener("input", () => {
    const lines = text.value.split("\n").length;
    text.rows = lines + 1;
    while (gutter.children.length < lines) gutter.append(document.createElement("li"));
    while (gutter.children.length > lines) gutter.lastChild.remove();
  });
  for (const link of document.querySelectorAll("[data-line]")) {
    link.addEventListener("click", () => {
      const lines = text.value.split("\n");
      const start = lines.slice(0, Number(link.dataset.line) - 1).join("\n").length;
      text.focus({ preventScroll: true });
      text.setSelectionRange(start + (start ? 1 : 0), start + (start ? 1 : 0) + lines[Number(link.dataset.line) - 1].length);
    });
  }
}
