// Pages of raters other than items and chats: dialogs, questions of a form, and unsent answers.

import "./dialogs.js";
import { Outbox, english, stored } from "./outbox.js";
import { Questions, requireAnswers } from "./questions.js";

const { rater, token, forget, refused } = document.body.dataset;
const form = document.getElementById("answers");

// An answer that is refused is removed from the outbox, so say it.
function onOutbox({ kind, text }) {
  if (kind !== "refused") return;
  const notice = document.createElement("p");
  [notice.className, notice.role] = ["notice bad", "alert"];
  notice.append(refused, " ", english(text));
  document.getElementById("main").prepend(notice);
}

if (rater) new Outbox({ rater, token, notify: onOutbox }).send();

if (forget) {
  // Only entries of this rater: the browser may hold unsent answers of another.
  stored.names().filter((name) => name.split(":")[1] === forget).forEach(stored.remove);
  sessionStorage.clear();
}

if (form) {
  const questions = new Questions(form, JSON.parse(document.getElementById("phrases").textContent));
  requireAnswers(form, questions);
}
