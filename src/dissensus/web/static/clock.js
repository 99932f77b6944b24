// Time that an item is in view, by a monotonic clock.

const QUIET_MS = 60_000; // without input; longer counts as idle
const LONGEST_MS = 7 * 24 * 3600 * 1000; // maximum of the server
const INPUTS = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchmove"];

export class Clock {
  #visible = 0;
  #idle = 0;
  #input = performance.now();
  #since = document.hidden ? null : this.#input; // start of the time in view that is not yet counted

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
