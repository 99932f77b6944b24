// What is to be sent: kept in the browser first, sent in order, and let go only at the server's word.
//
// Every entry lies under a name of its own, so that tabs never write over each other. A tab sends its own entries and
// those that it finds when it opens; what two tabs send twice the server keeps once, by its key.

const DEBOUNCE_MS = 400;
const PATIENCE_MS = 20_000;
const PAUSES_S = [1, 2, 4, 8, 15, 30, 60];
const LATER = new Set([408, 425, 429]);

export const uuid = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
    .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
};

// A browser may refuse to keep anything; then all lasts as long as the page.
export const stored = {
  get: (name) => attempt(() => localStorage.getItem(name)),
  set: (name, value) => attempt(() => localStorage.setItem(name, value)),
  remove: (name) => attempt(() => localStorage.removeItem(name)),
  names: () => attempt(() => Object.keys(localStorage)) ?? [],
};

function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

export class Outbox {
  #entries = new Map();
  #prefix;
  #token;
  #tell;
  #number = 0;
  #flying = null;
  #failures = 0;
  #timer;

  // `tell` hears of {kind}: saving, saved, unsaved, refused and signed_out (with a text), reply (with data).
  constructor({ rater, token, tell = () => {} }) {
    [this.#prefix, this.#token, this.#tell] = [`dissensus:${rater}:`, token, tell];
    for (const name of stored.names().filter((one) => one.startsWith(this.#prefix)).sort()) {
      const entry = attempt(() => JSON.parse(stored.get(name)));
      if (entry) this.#entries.set(name, entry);
      this.#number = Math.max(this.#number, Number(name.slice(this.#prefix.length).split(":")[0]) || 0);
    }
    addEventListener("online", () => this.send());
    document.addEventListener("visibilitychange", () => document.hidden && this.send());
  }

  // What waits for one address, such as /rate/ID/save.
  waiting(path) {
    return [...this.#entries.values()].filter((entry) => entry.path === path);
  }

  // Whether something waits that ends an item.
  get ends() {
    return [...this.#entries.values()].some((entry) => !entry.save || entry.save.final);
  }

  get empty() {
    return this.#entries.size === 0;
  }

  add(path, save = null) {
    const answers = {};
    for (const [name, entry] of this.#entries) {
      const older = entry.path === path && name !== this.#flying && entry.save?.visit === save?.visit;
      if (!older || !save || entry.save.final) continue;
      Object.assign(answers, entry.save.answers);
      this.#remove(name);
    }
    const entry = { path, save: save && { ...save, answers: { ...answers, ...save.answers } } };
    this.#number += 1;
    const name = `${this.#prefix}${String(this.#number).padStart(9, "0")}:${uuid().slice(0, 8)}`;
    this.#entries.set(name, entry);
    stored.set(name, JSON.stringify(entry));
    if (!this.#failures) this.#tell({ kind: "saving" });
    if (save && !save.final) this.#later(Math.max(DEBOUNCE_MS, this.#pause));
    else this.send();
  }

  async send() {
    if (this.#flying) return;
    clearTimeout(this.#timer);
    while (!this.empty) {
      const [name, entry] = this.#entries.entries().next().value;
      this.#flying = name;
      const outcome = await post(entry, this.#token);
      this.#flying = null;
      if (outcome.kind === "unsaved") this.#failures += 1;
      else this.#failures = 0;
      if (outcome.kind === "reply" || outcome.kind === "refused") this.#remove(name);
      this.#tell({ ...outcome, entry });
      if (outcome.kind === "unsaved") this.#later(this.#pause);
      if (outcome.kind === "unsaved" || outcome.kind === "signed_out") return;
      if (outcome.kind === "reply" && this.empty) this.#tell({ kind: "saved" });
    }
  }

  #remove(name) {
    this.#entries.delete(name);
    stored.remove(name);
  }

  #later(milliseconds) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.send(), milliseconds);
  }

  get #pause() {
    return this.#failures ? 1000 * PAUSES_S[Math.min(this.#failures, PAUSES_S.length) - 1] : 0;
  }
}

async function post({ path, save }, token) {
  const headers = { Accept: "application/json", "X-Form-Token": token };
  if (save) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(path, {
      method: "POST",
      headers,
      body: save ? JSON.stringify(save) : undefined,
      redirect: "error",
      keepalive: document.hidden,
      signal: AbortSignal.timeout?.(PATIENCE_MS),
    });
    return await outcomeOf(response);
  } catch {
    return { kind: "unsaved" };
  }
}

// A network that asks for a password answers too, but not as our server does.
async function outcomeOf(response) {
  if (response.status >= 500 || LATER.has(response.status)) return { kind: "unsaved" };
  const text = await response.text();
  const data = attempt(() => JSON.parse(text));
  if (response.ok) return data && ("place" in data || "revision" in data) ? { kind: "reply", data } : { kind: "unsaved" };
  // Only our own word that it is no good lets an answer go: others on the way may say no for reasons of theirs.
  if (typeof data?.error !== "string") return { kind: "unsaved" };
  return { kind: response.status === 401 || response.status === 403 ? "signed_out" : "refused", text: data.error };
}
