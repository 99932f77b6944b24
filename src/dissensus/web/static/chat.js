// Chat: stream responses, keep typed text across reloads, and measure working time.

import { Clock } from "./clock.js";
import "./dialogs.js";
import { installKeys } from "./keys.js";

const RELOAD_MS = 5000;

const clock = new Clock();
const pending = document.getElementById("pending-responses");
const [text, messageForm] = [document.getElementById("text"), document.getElementById("message-form")];

addEventListener("submit", ({ target }) => {
  const worked = target.elements.worked_ms;
  if (worked) worked.value = clock.visible_ms - clock.idle_ms;
});

const words = (message) => message?.replace(/\s+/g, " ").trim();

if (text) {
  // The draft is kept until the page shows it as sent.
  const draft = sessionStorage.getItem(messageForm.action);
  const sent = [...document.querySelectorAll(".turn.human .message")].at(-1)?.textContent;
  if (draft !== null && words(draft) === words(sent)) sessionStorage.removeItem(messageForm.action);
  else if (!text.value) text.value = draft ?? "";
  text.addEventListener("input", () => sessionStorage.setItem(messageForm.action, text.value));
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    messageForm.requestSubmit();
  });
}

installKeys((digit) => {
  const button = document.querySelectorAll(".strengths button")[digit - 1];
  if (!button?.checkVisibility()) return false;
  button.click();
  return true;
});

if (pending) {
  const boxes = [...pending.querySelectorAll(".message")];
  const source = new EventSource(pending.dataset.responses);
  source.addEventListener("start", () => boxes.forEach((box) => box.replaceChildren()));
  source.addEventListener("chunk", ({ data }) => {
    const chunk = JSON.parse(data);
    const box = boxes[chunk.position];
    // The server renders Markdown, from escaped text.
    if ("html" in chunk) box.innerHTML = chunk.html;
    else box.append(chunk.text);
  });
  source.addEventListener("end", () => {
    source.close();
    const here = location.pathname === "/rate";
    location.replace("/rate#current-step");
    // With only the fragment changed, browsers scroll instead of loading the page.
    if (here) location.reload();
  });
  // Browsers do not connect again after a response other than 200, such as that of a proxy during a restart.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.assign("/rate"), RELOAD_MS);
  });
}
