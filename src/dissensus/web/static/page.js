// All pages except rating: dialogs, questions about the rater, and unsent answers.

import "./dialogs.js";
import { Outbox, stored } from "./outbox.js";
import { Questions, focus } from "./questions.js";

const { rater, token, forget } = document.body.dataset;
const form = document.getElementById("answers");

if (rater) new Outbox({ rater, token }).send();

// Only entries of this rater: the browser may hold unsent answers of another.
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
