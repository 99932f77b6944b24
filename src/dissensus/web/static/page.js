// Every page but the one with an item: dialogs, questions about the rater, and answers that still wait.

import "./dialogs.js";
import { Outbox, stored } from "./outbox.js";
import { Questions, focus } from "./questions.js";

const { rater, token, forget } = document.body.dataset;
const form = document.getElementById("answers");

if (rater) new Outbox({ rater, token }).send();

// Of this rater alone: in one browser there may be unsent answers of another.
if (forget) stored.names().filter((name) => name.split(":")[1] === forget).forEach(stored.remove);

if (form) {
  const questions = new Questions(form, JSON.parse(document.getElementById("phrases").textContent));
  form.addEventListener("submit", (event) => {
    const missing = questions.missing();
    if (!missing) return;
    event.preventDefault();
    focus(missing);
  });
}
