// The page on which an expert labels: questions that apply, what is missing, and keys.

import "./dialogs.js";
import { installKeys } from "./keys.js";
import { Questions, focus } from "./questions.js";

const form = document.getElementById("answers");

if (form) {
  const questions = new Questions(form, JSON.parse(document.getElementById("phrases").textContent));
  installKeys(questions, () => form.requestSubmit());
  form.addEventListener("submit", (event) => {
    const missing = questions.missing();
    if (!missing) return;
    event.preventDefault();
    focus(missing);
  });
}
