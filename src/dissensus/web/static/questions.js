// Questions of a form: answers, conditions and required answers.

export const filled = (phrase, values) => phrase.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);

const CHOICES = "input[type=radio], input[type=checkbox]";
const TEXTS = "textarea, .own-words input";

export class Questions {
  #form;
  #phrases;

  constructor(form, phrases) {
    [this.#form, this.#phrases] = [form, phrases];
    form.noValidate = true; // missing answers are shown beside the question
    form.addEventListener("input", (event) => this.#choose(event.target), true);
    for (const name of ["input", "change"]) form.addEventListener(name, () => this.refresh(), true);
    this.refresh({ keepsFaults: true });
  }

  get #all() {
    return [...this.#form.querySelectorAll("[data-question]")];
  }

  // Questions that apply to the answers so far, in order, each with its answer. The server applies the same rule.
  #applying() {
    const applying = new Map();
    for (const question of this.#all) {
      const { when, answers } = question.dataset;
      const earlier = when && [...applying].find(([other]) => other.dataset.question === when)?.[1];
      const applies = !when || [earlier].flat().some((answer) => JSON.parse(answers).includes(answer));
      if (applies) applying.set(question, answerOf(question));
    }
    return applying;
  }

  // Answers and texts in own words, by name; null where there is none.
  values() {
    const values = {};
    const applying = this.#applying();
    for (const question of this.#all) {
      const { question: name, own } = question.dataset;
      values[name] = applying.get(question) ?? null;
      if (own) values[own] = values[name] === null ? null : ownWords(question);
    }
    return values;
  }

  fill(values) {
    for (const [name, value] of Object.entries(values)) {
      for (const control of this.#form.querySelectorAll(`[name="${CSS.escape(name)}"]`)) {
        if (control.matches(CHOICES)) control.checked = [value].flat().includes(control.value);
        else if (control !== document.activeElement) control.value = value ?? "";
      }
    }
    this.refresh();
  }

  clear() {
    for (const choice of this.#form.querySelectorAll(CHOICES)) choice.checked = false;
    for (const text of this.#form.querySelectorAll(TEXTS)) text.value = "";
    for (const help of this.#form.querySelectorAll("details")) help.open = false;
    for (const question of this.#all) mark(question, false);
    this.refresh();
  }

  // Show questions that apply, update counters, and clear the faults of answered questions but for those of the server.
  refresh({ keepsFaults = false } = {}) {
    const applying = this.#applying();
    for (const question of this.#all) {
      question.hidden = !applying.has(question);
      if (!keepsFaults && applying.get(question) != null) mark(question, false);
      limit(question);
      const [counter, text] = [question.querySelector("[data-counter]"), question.querySelector("textarea")];
      if (counter) {
        const values = { n: text.value.length, max: text.maxLength };
        counter.textContent = filled(this.#phrases.counter, values);
      }
    }
  }

  // Mark required questions without an answer, and return the first.
  missing() {
    const open = [...this.#applying()].filter(([question, answer]) => answer === null && "required" in question.dataset);
    for (const [question] of open) mark(question, true, this.#phrases.missing);
    return open[0]?.[0];
  }

  // Give the first answer to the questions of a grid that have none.
  answerRest(grid) {
    for (const question of grid.querySelectorAll("[data-question]")) {
      if (answerOf(question) === null) question.querySelector(".answers input").checked = true;
    }
    this.refresh();
  }

  // The question of an element, else the first open one.
  at(element) {
    return element?.closest?.("[data-question]") ?? this.#open()[0];
  }

  after(question) {
    return this.#open().find((other) => question.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING)
      ?? this.#open()[0];
  }

  #open() {
    return [...this.#applying()].filter(([, answer]) => answer === null)
      .map(([question]) => question).filter((question) => "required" in question.dataset);
  }

  // An exclusive answer unchecks all others, and any other unchecks it.
  #choose(choice) {
    if (choice.type !== "checkbox" || !choice.checked || !choice.name) return;
    for (const other of choice.closest("[data-question]")?.querySelectorAll("input[type=checkbox]") ?? []) {
      if (other !== choice && ("alone" in choice.dataset || "alone" in other.dataset)) other.checked = false;
    }
  }
}

// At the maximum number of answers, disable the rest except exclusive ones.
function limit(question) {
  const choices = [...question.querySelectorAll("input[type=checkbox]")];
  const full = choices.filter((choice) => choice.checked).length >= Number(question.dataset.most ?? Infinity);
  for (const choice of choices) choice.disabled = full && !choice.checked && !("alone" in choice.dataset);
}

// Prevent the submission of a form while a required answer is missing.
export function requireAnswers(form, questions) {
  form.addEventListener("submit", (event) => {
    const missing = questions.missing();
    if (!missing) return;
    event.preventDefault();
    focus(missing);
  });
}

export function focus(question) {
  (question.querySelector("input:checked") ?? question.querySelector("input, textarea")).focus();
}

function answerOf(question) {
  const chosen = [...question.querySelectorAll(".answers input:checked")].map((choice) => choice.value);
  if (question.dataset.kind === "multiple") return chosen.length ? chosen : null;
  if (question.dataset.kind !== "text") return chosen[0] ?? null;
  const text = question.querySelector("textarea").value;
  return text.trim() ? text : null;
}

function ownWords(question) {
  const text = question.querySelector(".own-words input").value;
  return question.querySelector("[data-opens]:checked") && text.trim() ? text : null;
}

function mark(question, invalid, text) {
  const [fault, control] = [question.querySelector(".fault"), question.querySelector("textarea") ?? question];
  fault.hidden = !invalid;
  // A hidden text would still be read as the description of its control.
  fault.textContent = invalid ? text : "";
  if (invalid && control.matches("textarea, [role=radiogroup]")) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}
