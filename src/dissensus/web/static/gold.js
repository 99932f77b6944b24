// Gold labelling: conditional questions, required answers, and keyboard shortcuts.

import "./dialogs.js";
import { chooseAnswer, installKeys } from "./keys.js";
import { Questions, requireAnswers } from "./questions.js";

const form = document.getElementById("answers");

if (form) {
  const questions = new Questions(form, JSON.parse(document.getElementById("phrases").textContent));
  installKeys((digit) => chooseAnswer(questions, digit), () => form.requestSubmit());
  requireAnswers(form, questions);
}
