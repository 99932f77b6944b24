// How long an item is in view, by a clock that nobody sets.

const QUIET_MS = 60_000; // without any input; what is longer counts as idle
const LONGEST_MS = 7 * 24 * 3600 * 1000; // what the server takes
const INPUTS = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchmove"];

export class Clock {
  #visible = 0;
  #idle = 0;
  #input = performance.now();
  #since = document.hidden ? null : this.#input; // since when the page is in view and not yet counted

  constructor() {
    for (const name of INPUTS) addEventListener(name, () => this.#count(true), { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => {
      this.#count(true);
      this.#since = document.hidden ? null : performance.now();
    });
  }

  restart() {
    [this.#visible, this.#idle] = [0, 0];
    this.#input = performance.now();
    if (this.#since !== null) this.#since = this.#input;
  }

  get visible_ms() {
    this.#count(false);
    return Math.min(Math.round(this.#visible), LONGEST_MS);
  }

  get idle_ms() {
    this.#count(false);
    return Math.min(Math.round(this.#idle), this.visible_ms);
  }

  #count(active) {
    const now = performance.now();
    if (this.#since !== null) {
      this.#visible += now - this.#since;
      this.#idle += Math.max(0, now - Math.max(this.#since, this.#input + QUIET_MS));
      this.#since = now;
    }
    if (active) this.#input = now;
  }
}
