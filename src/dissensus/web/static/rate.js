// Rating: answers are saved as they are given, and the next item is shown at once.

import { Clock } from "./clock.js";
import { show as showDialog } from "./dialogs.js";
import { installKeys } from "./keys.js";
import { Outbox, stored, uuid } from "./outbox.js";
import { Questions, filled, focus } from "./questions.js";

const MOST_PACES = 20;
const LEAST_PACES = 3; // before a pace is told

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const [state, phrases] = [read("state"), read("phrases")];
const { rater, token } = document.body.dataset;
const [form, conversation, split] = [byId("answers"), byId("conversation"), document.querySelector(".split")];

const clock = new Clock();
const questions = new Questions(form, phrases);
const outbox = new Outbox({ rater, token, tell: hear });

let item = opened(state.item, state);
let following = state.following;
let { done, all } = state;
let waits = false; // for the server to say what comes next
let leaves = false; // as soon as everything is sent
let typing = null; // the text that is being written: a word is one change, not one for each letter

function opened({ assignment }, { answers = {}, revision = 0 } = {}) {
  return { assignment, answers: { ...answers }, revision, visit: uuid(), touched: false };
}

// Answering

form.addEventListener("input", record);
form.addEventListener("change", () => {
  record();
  typing = null;
});

function record() {
  const [changed, at] = [{}, clock.visible_ms];
  for (const [name, value] of Object.entries(questions.values())) {
    const before = item.answers[name];
    if (JSON.stringify(before?.value ?? null) === JSON.stringify(value)) continue;
    const changes = before ? before.changes + (typing === name ? 0 : 1) : 0;
    changed[name] = { value, first_ms: before?.first_ms ?? at, last_ms: at, changes };
    typing = form.elements[name]?.maxLength ? name : typing;
  }
  if (Object.keys(changed).length === 0) return;
  Object.assign(item.answers, changed);
  item.touched = true;
  outbox.add(path("save"), saveOf(changed, false));
}

const path = (what) => `/rate/${item.assignment}/${what}`;

function saveOf(answers, final) {
  item.revision += 1;
  const { visit, revision } = item;
  const { visible_ms, idle_ms } = clock;
  return { key: uuid(), revision, visit, visible_ms, idle_ms, answers, final };
}

// Going on

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
byId("skipping").addEventListener("submit", (event) => {
  event.preventDefault();
  if (waits) return;
  outbox.add(path("skip"));
  goOn();
});

function submit() {
  if (waits) return;
  record();
  const missing = questions.missing();
  if (missing) {
    say(phrases.missing_some);
    focus(missing);
    return;
  }
  keepPace(clock.visible_ms - clock.idle_ms);
  outbox.add(path("save"), saveOf(item.answers, true));
  done += 1;
  goOn();
}

function goOn() {
  if (following) display(following);
  else wait(true);
  following = null;
}

function wait(on) {
  waits = on;
  split.inert = on;
  split.classList.toggle("waits", on);
}

function display(next, known) {
  item = opened(next, known);
  conversation.innerHTML = next.html;
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

function fill() {
  questions.fill(Object.fromEntries(Object.entries(item.answers).map(([name, { value }]) => [name, value])));
}

// What the outbox tells

function hear({ kind, text, data, entry }) {
  byId("saved").className = `saved ${kind === "saved" ? "done" : kind}`;
  if (kind === "saving") byId("saved").textContent = phrases.saving;
  if (kind === "saved") {
    tell(phrases.saved);
    mention();
    if (leaves) location.assign("/rate");
  }
  if (kind === "unsaved") {
    tell(phrases.unsaved);
    mention([waits ? phrases.waiting : phrases.kept]);
  }
  if (kind === "signed_out") complain([phrases.signed_out, text], phrases.again);
  if (kind === "refused") refuse(entry, text);
  if (kind === "reply") learn(entry, data);
}

function learn(entry, data) {
  if (!("place" in data)) {
    if (entry.path === path("save")) item.revision = Math.max(item.revision, data.revision);
    return;
  }
  if (outbox.ends) return; // the server has not heard of all that was rated here
  [done, all] = [data.done, data.all];
  showProgress();
  leaves = data.place !== "rate";
  if (leaves) return;
  following = data.following;
  if (data.item.assignment === item.assignment && !waits) merge(data);
  else if (waits || !item.touched) display(data.item, data);
  else following = data.item;
  if (data.pause && entry.save?.final) pause();
}

// What was answered here counts more than what was saved elsewhere before.
function merge({ answers, revision }) {
  item.revision = Math.max(item.revision, revision);
  item.answers = { ...answers, ...item.answers };
  fill();
}

function refuse({ path: where, save }, text) {
  const elsewhere = save?.final || where !== path("save");
  complain([phrases.refused, text, ...(elsewhere ? [phrases.refused_item] : [])], phrases.again);
}

// Say what passes by itself, unless there is something that does not.
function mention(texts) {
  if (!byId("trouble").querySelector("a")) complain(texts);
}

// Say what is wrong; with a link to load the page again it stays until then.
function complain(texts = [], link = "") {
  const box = byId("trouble");
  box.replaceChildren();
  if (!texts.length) return;
  const told = document.createElement("p");
  told.className = "told bad";
  told.textContent = `${texts.join(" ")} `;
  if (link) {
    const anchor = document.createElement("a");
    [anchor.href, anchor.textContent] = ["/rate", link];
    told.append(anchor);
  }
  box.append(told);
}

function tell(text) {
  byId("saved").textContent = text;
  say(text);
}

function say(text) {
  if (byId("said").textContent !== text) byId("said").textContent = text;
}

// How far, and how long yet

function showProgress() {
  const parts = [filled(all === null ? phrases.count : phrases.of, { done, all })];
  const time = left();
  if (time) parts.push(filled(phrases.pace, { time }));
  byId("progress").textContent = parts.join(", ");
  const bar = document.querySelector(".progress progress");
  if (bar) [bar.max, bar.value] = [all, done];
}

const paces = () => JSON.parse(stored.get(`dissensus-pace:${rater}`) ?? "[]");

function keepPace(milliseconds) {
  stored.set(`dissensus-pace:${rater}`, JSON.stringify([...paces(), milliseconds].slice(-MOST_PACES)));
}

function left() {
  const known = paces().sort((a, b) => a - b);
  if (all === null || all <= done || known.length < LEAST_PACES) return null;
  const minutes = Math.max(1, Math.round((known[known.length >> 1] * (all - done)) / 60_000));
  const [number, unit] = minutes < 90 ? [minutes, "minute"] : [Math.round(minutes / 60), "hour"];
  const format = { style: "unit", unit, unitDisplay: "long" };
  return new Intl.NumberFormat(document.documentElement.lang, format).format(number);
}

// A break is offered once for a number of items, however often the page is loaded.
function pause() {
  const name = `dissensus-pause:${rater}`;
  if (stored.get(name) === String(done)) return;
  stored.set(name, String(done));
  showDialog("pause");
}

// What was answered before and is not sent yet, by this page or by one that was closed
function restore() {
  for (const { save } of outbox.waiting(path("save"))) {
    Object.assign(item.answers, save.answers);
    item.revision = Math.max(item.revision, save.revision);
    if (save.final) wait(true);
  }
  if (outbox.waiting(path("skip")).length) wait(true);
  fill();
}

byId("pause").close();
if (state.pause) pause();
installKeys(questions, submit);
restore();
showProgress();
outbox.send();
