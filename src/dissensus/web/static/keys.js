// Keyboard shortcuts for answers.

import { show } from "./dialogs.js";
import { stored } from "./outbox.js";
import { focus } from "./questions.js";

const SWITCH = "dissensus-keys";

// `choose` takes a digit and returns whether it did something; `submit` may be missing.
export function installKeys(choose, submit) {
  const single = document.getElementById("single-keys");
  single.checked = stored.get(SWITCH) !== "off";
  single.addEventListener("change", () => stored.set(SWITCH, single.checked ? "on" : "off"));

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.repeat || document.querySelector("dialog[open]")) return;
    if (submit && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTextInput(event.target) || !single.checked) return;
    if (event.key === "?") show("keys");
    if (event.key.toLowerCase() === "o") uncover();
    const digit = digitOf(event);
    if (digit && choose(digit)) event.preventDefault();
  });
}

const isTextInput = (element) => element.matches("textarea, select, input:not([type=radio], [type=checkbox])");

// On layouts where digits need the shift key, use the physical key.
function digitOf({ key, code, shiftKey }) {
  if (/^[1-9]$/.test(key)) return Number(key);
  return !shiftKey && /^Digit[1-9]$/.test(code) ? Number(code.slice(5)) : null;
}

function uncover() {
  const cover = document.querySelector("#conversation .cover:not([open])");
  if (cover) cover.open = true;
}

// Choose an answer to the current question, and move to the next.
export function chooseAnswer(questions, digit) {
  const question = questions.at(document.activeElement);
  const choice = question?.querySelectorAll(".answers input")[digit - 1];
  if (!choice) return false;
  choice.focus();
  if (choice.type === "checkbox" || !choice.checked) choice.click();
  if (choice.type === "checkbox") return true;
  const [own, next] = ["opens" in choice.dataset && question.querySelector(".own-words input"), questions.after(question)];
  if (own) own.focus();
  else if (next) focus(next);
  else document.getElementById("submit").focus();
  return true;
}
