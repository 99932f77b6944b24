// Talking with chatbots: responses appear as they come, what is typed outlives a reload, and work is timed.

import { Clock } from "./clock.js";
import "./dialogs.js";

const clock = new Clock();
const answering = document.getElementById("answering");
const [text, saying] = [document.getElementById("text"), document.getElementById("saying")];

addEventListener("submit", ({ target }) => {
  const worked = target.elements.worked_ms;
  if (worked) worked.value = clock.visible_ms - clock.idle_ms;
  if (target === saying) sessionStorage.removeItem(saying.action);
});

if (text) {
  if (!text.value) text.value = sessionStorage.getItem(saying.action) ?? "";
  text.addEventListener("input", () => sessionStorage.setItem(saying.action, text.value));
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    saying.requestSubmit();
  });
}

if (answering) {
  const boxes = [...answering.querySelectorAll(".said")];
  const source = new EventSource(answering.dataset.responses);
  source.addEventListener("begin", () => boxes.forEach((box) => box.replaceChildren()));
  source.addEventListener("piece", ({ data }) => {
    const piece = JSON.parse(data);
    boxes[piece.place].append(piece.text);
  });
  source.addEventListener("over", () => {
    source.close();
    location.replace("/rate#now");
    // To the same address with another fragment a browser only scrolls.
    location.reload();
  });
}
