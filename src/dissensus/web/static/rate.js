// Rating: save answers as they are entered, and show the next item without reloading.

import { Clock } from "./clock.js";
import { show as showDialog } from "./dialogs.js";
import { chooseAnswer, installKeys } from "./keys.js";
import { Outbox, english, stored, uuid } from "./outbox.js";
import { Questions, filled, focus } from "./questions.js";

const MAX_PACES = 20;
const MIN_PACES = 3; // before a pace is shown

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const [state, phrases] = [read("state"), read("phrases")];
const { rater, token } = document.body.dataset;
const [form, conversation, split] = [byId("answers"), byId("conversation"), document.querySelector(".split")];

const clock = new Clock();
const questions = new Questions(form, phrases);
const outbox = new Outbox({ rater, token, notify: onOutbox });

let item = opened(state.item, state);
let nextItem = state.next_item;
let { done, total } = state;
let waiting = false; // for the next item from the server
let leaving = false; // once everything is sent
let unsent = false; // while a problem of saving is shown
let returning = false; // to the item before, once it is saved
let typing = null; // field being typed in: keystrokes in a row count as one change
let openSince = null; // visible time at which the conversation was last uncovered; null while it is covered
let openBefore = null; // time for which it had been uncovered before; null if it never was

function opened({ assignment }, { answers = {}, revision = 0 } = {}) {
  return { assignment, answers: { ...answers }, revision, visit: uuid(), touched: false };
}

// Answering

form.addEventListener("input", () => record());
form.addEventListener("change", () => {
  record();
  typing = null;
});

function record({ bulk = false } = {}) {
  const [changed, at] = [{}, clock.visible_ms];
  for (const [name, value] of Object.entries(questions.values())) {
    const before = item.answers[name];
    if (JSON.stringify(before?.value ?? null) === JSON.stringify(value)) continue;
    const changes = before ? before.changes + (typing === name ? 0 : 1) : 0;
    changed[name] = { value, first_ms: before?.first_ms ?? at, last_ms: at, changes, bulk };
    typing = form.elements[name]?.maxLength ? name : typing;
  }
  if (Object.keys(changed).length === 0) return;
  Object.assign(item.answers, changed);
  item.touched = true;
  outbox.add(path("save"), saveOf(changed, false));
}

function answerRest(button) {
  if (waiting) return;
  questions.answerRest(button.closest(".grid"));
  record({ bulk: true });
  const next = questions.after(button);
  if (next) focus(next);
  else byId("submit").focus();
}

const path = (action) => `/rate/${item.assignment}/${action}`;

function saveOf(answers, final) {
  item.revision += 1;
  const { visit, revision } = item;
  const { visible_ms, idle_ms } = clock;
  return { key: uuid(), revision, visit, visible_ms, idle_ms, open_ms: openTime(), answers, final };
}

// Covered conversations

conversation.addEventListener("toggle", () => { // it does not bubble
  keepOpenTime();
  if (!unsent) showPassing();
}, true);

function keepOpenTime() {
  openBefore = openTime();
  const cover = conversation.querySelector(".cover");
  openSince = cover?.open ? clock.visible_ms : null;
  if (cover?.open) openBefore ??= 0;
}

function openTime() {
  return openSince === null ? openBefore : openBefore + clock.visible_ms - openSince;
}

// Next item

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter?.name === "bulk") answerRest(event.submitter);
  else submit();
});
byId("skipping")?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (waiting) return;
  outbox.add(path("skip"));
  continueRating();
});

// The second click of a double click would act on the next item.
for (const name of ["submit", "skip"]) {
  byId(name)?.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
}

// The server knows the item before only once it is saved.
byId("previous")?.addEventListener("click", (event) => {
  if (!outbox.ends) return;
  event.preventDefault();
  returning = true;
});

function submit() {
  if (waiting) return;
  record();
  const cover = conversation.querySelector(".cover");
  if (cover && openTime() === null && !state.corrects) {
    showPassing([phrases.covered]);
    cover.querySelector("summary").focus();
    return;
  }
  const missing = questions.missing();
  if (missing) {
    announce(phrases.missing_some);
    focus(missing);
    return;
  }
  if (!state.corrects) keepPace(clock.visible_ms - clock.idle_ms);
  outbox.add(path("save"), saveOf(item.answers, true));
  if (state.corrects) return wait(true);
  done += 1;
  continueRating();
}

function continueRating() {
  if (nextItem) display(nextItem);
  else wait(true);
  nextItem = null;
}

function wait(on) {
  waiting = on;
  split.inert = on;
  split.classList.toggle("waiting", on);
}

function display(next, saved) {
  item = opened(next, saved);
  conversation.innerHTML = next.html;
  pinRatedAnswer();
  [openSince, openBefore] = [null, null];
  form.action = `/rate/${next.assignment}`;
  byId("skipping").action = `/rate/${next.assignment}/skip`;
  for (const field of document.querySelectorAll("dialog input[name=assignment]")) field.value = next.assignment;
  questions.clear();
  clock.restart();
  wait(false);
  restore();
  showProgress();
  document.querySelector(".introduction")?.removeAttribute("open");
  scrollTo(0, 0);
  conversation.scrollTop = 0;
  conversation.focus({ preventScroll: true });
}

// On a narrow page the rated answer is pinned to the top while it is above the visible part; not while it is covered.
const ratedObserver = new IntersectionObserver(
  ([{ isIntersecting, boundingClientRect: { height } }]) => (byId("pin").hidden = isIntersecting || height === 0),
  { rootMargin: "0px 0px 1000000px 0px" }, // also what is below the visible part
);

function pinRatedAnswer() {
  const rated = conversation.querySelector(".turn.rated");
  byId("pin").hidden = true;
  const message = rated?.querySelector(".message").cloneNode(true);
  byId("pin").querySelector(".pinned").replaceChildren(...(message ? [message] : []));
  ratedObserver.disconnect();
  if (rated) ratedObserver.observe(rated);
}

function fill() {
  questions.fill(Object.fromEntries(Object.entries(item.answers).map(([name, { value }]) => [name, value])));
}

// Events of the outbox

function onOutbox({ kind, text, data, entry, busy }) {
  byId("saved").className = `saved ${kind === "saved" ? "done" : kind}`;
  if (kind === "saving") byId("saved").textContent = phrases.saving;
  if (kind === "saved") {
    showSaved(phrases.saved);
    if (unsent) showPassing();
    unsent = false;
    if (returning) location.assign("/answers/last");
    else if (leaving) location.assign(state.corrects ? "/answers" : "/rate");
  }
  if (kind === "unsaved") {
    unsent = true;
    showSaved(phrases.unsaved);
    showPassing([busy ? phrases.busy : waiting ? phrases.waiting : phrases.offline]);
  }
  if (kind === "signed_out") showProblem([phrases.signed_out], phrases.reload);
  if (kind === "signed_out" || kind === "refused") byId("saved").textContent = "";
  if (kind === "refused") onRefused(entry, text);
  if (kind === "reply") onReply(entry, data);
}

function onReply(entry, data) {
  if (!("stage" in data)) {
    if (entry.path === path("save")) item.revision = Math.max(item.revision, data.revision);
    return;
  }
  if (state.corrects) {
    leaving ||= entry.path === path("save");
    return;
  }
  if (outbox.ends) return; // the reply does not cover all items rated here
  [done, total] = [data.done, data.total];
  showProgress();
  leaving = data.stage !== "rate";
  if (leaving) return;
  nextItem = data.next_item;
  if (data.item.assignment === item.assignment && !waiting) merge(data);
  else if (waiting || !(item.touched || document.querySelector("dialog[open]"))) display(data.item, data);
  else nextItem = data.item;
  if (data.pause && entry.save?.final) pause();
}

// Answers on this page override those saved earlier elsewhere.
function merge({ answers, revision }) {
  item.revision = Math.max(item.revision, revision);
  item.answers = { ...answers, ...item.answers };
  fill();
}

function onRefused({ path: target, save }, text) {
  const ofOtherItem = save?.final || target !== path("save");
  showProblem([phrases.refused, english(text), ...(ofOtherItem ? [phrases.refused_item] : [])], phrases.reload);
}

// Show a passing problem, unless a lasting one is shown.
function showPassing(texts) {
  if (!byId("alert").querySelector("a")) showProblem(texts);
}

// Show a problem, of texts and elements; with a link to reload the page it stays until then.
function showProblem(texts = [], link = "") {
  const box = byId("alert");
  box.replaceChildren();
  if (!texts.length) return;
  const notice = document.createElement("p");
  notice.className = "notice bad";
  notice.append(...texts.flatMap((text) => [text, " "]));
  if (link) {
    const anchor = document.createElement("a");
    [anchor.href, anchor.textContent] = ["/rate", link];
    notice.append(anchor);
  }
  box.append(notice);
}

function showSaved(text) {
  byId("saved").textContent = text;
  announce(text);
}

function announce(text) {
  if (byId("announcement").textContent !== text) byId("announcement").textContent = text;
}

// Progress and remaining time

function showProgress() {
  if (state.corrects) return;
  byId("previous").hidden = done === 0;
  const parts = [filled(total === null ? phrases.count : phrases.progress, { done, total })];
  const time = remainingTime();
  if (time) parts.push(filled(phrases.pace, { time }));
  byId("progress").textContent = parts.join(", ");
  const bar = document.querySelector(".progress progress");
  if (bar) [bar.max, bar.value] = [total, done];
}

const paces = () => JSON.parse(stored.get(`dissensus-pace:${rater}`) ?? "[]");

function keepPace(milliseconds) {
  stored.set(`dissensus-pace:${rater}`, JSON.stringify([...paces(), milliseconds].slice(-MAX_PACES)));
}

function remainingTime() {
  const sorted = paces().sort((a, b) => a - b);
  if (total === null || total <= done || sorted.length < MIN_PACES) return null;
  const minutes = Math.max(1, Math.round((sorted[sorted.length >> 1] * (total - done)) / 60_000));
  const [number, unit] = minutes < 90 ? [minutes, "minute"] : [Math.round(minutes / 60), "hour"];
  const format = { style: "unit", unit, unitDisplay: "long" };
  return new Intl.NumberFormat(document.documentElement.lang, format).format(number);
}

// Suggest a break once for each number of items, even if the page is reloaded.
function pause() {
  const name = `dissensus-pause:${rater}`;
  if (stored.get(name) === String(done)) return;
  stored.set(name, String(done));
  showDialog("pause");
}

// Restore unsent answers of this page or of one that was closed.
function restore() {
  for (const { save } of outbox.waiting(path("save"))) {
    Object.assign(item.answers, save.answers);
    item.revision = Math.max(item.revision, save.revision);
    if (save.final) wait(true);
  }
  if (outbox.waiting(path("skip")).length) wait(true);
  fill();
}

new ResizeObserver(() => document.documentElement.style.setProperty("--pin", `${byId("pin").offsetHeight}px`)).observe(byId("pin"));
pinRatedAnswer();
keepOpenTime();
byId("pause").close();
if (state.pause) pause();
installKeys((digit) => chooseAnswer(questions, digit), submit);
restore();
showProgress();
outbox.send();
