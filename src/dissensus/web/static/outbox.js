// Outbox: requests are stored in the browser, sent in order, and removed once the server has answered.
//
// Each entry has a unique name, so tabs never overwrite each other. A tab sends its own entries and those stored when it
// opens; the server stores duplicates once, by their key.

const DEBOUNCE_MS = 400;
const PATIENCE_MS = 20_000;
const PAUSES_S = [1, 2, 4, 8, 15, 30, 60];
const RETRY_STATUSES = new Set([408, 413, 425, 429]);
const TOO_LARGE = 413;
const MAX_WAIT_S = 3600;

export const uuid = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
    .replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
};

// Browsers may disable storage; then entries last as long as the page.
export const stored = {
  get: (name) => attempt(() => localStorage.getItem(name)),
  set: (name, value) => attempt(() => localStorage.setItem(name, value)),
  remove: (name) => attempt(() => localStorage.removeItem(name)),
  names: () => attempt(() => Object.keys(localStorage)) ?? [],
};

// Texts of the server about refused requests are English on all pages.
export function english(text) {
  const span = document.createElement("span");
  [span.lang, span.dir, span.textContent] = ["en", "auto", text];
  return span;
}

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
  #notify;
  #number = 0;
  #sending = null;
  #heldBack = new Set(); // names of entries that are too large for the server; the others go first
  #resumeAt = 0; // time before which the server wants no request
  #failures = 0;
  #timer;

  // `notify` receives {kind}: saving, saved, unsaved (busy if the server takes no more for now), refused and signed_out
  // (with text), reply (with data).
  constructor({ rater, token, notify = () => {} }) {
    [this.#prefix, this.#token, this.#notify] = [`dissensus:${rater}:`, token, notify];
    for (const name of stored.names().filter((name) => name.startsWith(this.#prefix)).sort()) {
      const entry = attempt(() => JSON.parse(stored.get(name)));
      if (entry) this.#entries.set(name, entry);
      this.#number = Math.max(this.#number, Number(name.slice(this.#prefix.length).split(":")[0]) || 0);
    }
    addEventListener("online", () => this.#retry());
    document.addEventListener("visibilitychange", () => document.hidden && this.send());
  }

  // Unsent entries for one address, such as /rate/ID/save.
  waiting(path) {
    return [...this.#entries.values()].filter((entry) => entry.path === path);
  }

  // True if an unsent entry completes or skips an item.
  get ends() {
    return [...this.#entries.values()].some((entry) => !entry.save || entry.save.final);
  }

  get empty() {
    return this.#entries.size === 0;
  }

  add(path, save = null) {
    const answers = {};
    for (const [name, entry] of this.#entries) {
      const older = entry.path === path && name !== this.#sending && entry.save?.visit === save?.visit;
      if (!older || !save || entry.save.final) continue;
      Object.assign(answers, entry.save.answers);
      this.#remove(name);
    }
    const entry = { path, save: save && { ...save, answers: { ...answers, ...save.answers } } };
    this.#number += 1;
    const name = `${this.#prefix}${String(this.#number).padStart(9, "0")}:${uuid().slice(0, 8)}`;
    this.#entries.set(name, entry);
    stored.set(name, JSON.stringify(entry));
    if (!this.#failures) this.#notify({ kind: "saving" });
    if (save && !save.final) this.#schedule(Math.max(DEBOUNCE_MS, this.#pause));
    else this.send();
  }

  async send() {
    if (this.#sending) return;
    clearTimeout(this.#timer);
    const early = this.#resumeAt - Date.now();
    if (early > 0) return this.#schedule(early);
    let name;
    while ((name = this.#next())) {
      const entry = this.#entries.get(name);
      this.#sending = name;
      const outcome = await post(entry, this.#token);
      this.#sending = null;
      if (outcome.kind === "unsaved") this.#failures += 1;
      else this.#failures = 0;
      if (outcome.kind === "reply" || outcome.kind === "refused") this.#remove(name);
      this.#notify({ ...outcome, entry });
      if (outcome.kind === "signed_out") return;
      if (outcome.too_large) this.#heldBack.add(name);
      else if (outcome.kind === "unsaved") {
        this.#resumeAt = Date.now() + (outcome.wait_ms ?? 0);
        return this.#schedule(Math.max(this.#pause, outcome.wait_ms ?? 0));
      }
      if (outcome.kind === "reply" && this.empty) this.#notify({ kind: "saved" });
    }
    if (!this.empty) this.#schedule(1000 * PAUSES_S.at(-1));
  }

  #next() {
    return [...this.#entries.keys()].find((name) => !this.#heldBack.has(name));
  }

  // Send what was held back too.
  #retry() {
    this.#heldBack.clear();
    this.#resumeAt = 0;
    this.send();
  }

  #remove(name) {
    this.#entries.delete(name);
    this.#heldBack.delete(name);
    stored.remove(name);
  }

  #schedule(milliseconds) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#next() ? this.send() : this.#retry()), milliseconds);
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

// Captive portals respond too, but not with our JSON.
async function outcomeOf(response) {
  if (response.status >= 500 || RETRY_STATUSES.has(response.status)) {
    const wait_s = Math.min(Number(response.headers.get("Retry-After")) || 0, MAX_WAIT_S);
    const too_large = response.status === TOO_LARGE;
    return { kind: "unsaved", busy: too_large || wait_s > 0, too_large, wait_ms: 1000 * wait_s };
  }
  const text = await response.text();
  const data = attempt(() => JSON.parse(text));
  if (response.ok) return data && ("stage" in data || "revision" in data) ? { kind: "reply", data } : { kind: "unsaved" };
  // Drop an answer only if our server rejects it; proxies may refuse requests for other reasons.
  if (typeof data?.error !== "string") return { kind: "unsaved" };
  return { kind: response.status === 401 || response.status === 403 ? "signed_out" : "refused", text: data.error };
}
