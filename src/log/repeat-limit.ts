// A fault that happens ten thousand times a second must not be logged ten thousand times: after the first few of
// one event in a window the rest are counted, and one line at the window's end tells how many.

/** What was left out in a window: how many, and the fields of the last one. */
export interface Suppressed {
  readonly event: string;
  readonly count: number;
  readonly fields: object | undefined;
}

export interface RepeatLimitOptions {
  /** Of one event, let through in each window. */
  readonly burst: number;
  readonly windowMs: number;
  /** Events counted apart at once; those past it share one count. Events are names in the source, so few. */
  readonly eventsMax: number;
  now(): number;
}

interface Window {
  readonly event: string;
  readonly endsAtMs: number;
  seen: number;
  suppressed: number;
  lastFields: object | undefined;
}

const OVERFLOW = 'other events';

export class RepeatLimit {
  readonly #options: RepeatLimitOptions;
  readonly #windows = new Map<string, Window>();

  constructor(options: RepeatLimitOptions) {
    this.#options = options;
  }

  /** Whether this one is to be written. When not, it is counted. */
  admits(event: string, fields: object | undefined): boolean {
    const window = this.#window(event);
    window.seen++;
    if (window.seen <= this.#options.burst) return true;
    window.suppressed++;
    window.lastFields = fields;
    return false;
  }

  /** Milliseconds until the next window that left something out ends; undefined when none did. */
  nextEndMs(): number | undefined {
    let next: number | undefined;
    for (const { suppressed, endsAtMs } of this.#windows.values()) {
      if (suppressed > 0 && (next === undefined || endsAtMs < next)) next = endsAtMs;
    }
    return next === undefined ? undefined : Math.max(0, next - this.#options.now());
  }

  /** What the windows that are over left out; `all` closes those that are not over too. */
  takeSuppressed(all = false): Suppressed[] {
    const now = this.#options.now();
    const taken: Suppressed[] = [];
    for (const [event, window] of this.#windows) {
      if (!all && window.endsAtMs > now) continue;
      this.#windows.delete(event);
      if (window.suppressed > 0) {
        taken.push({ event: window.event, count: window.suppressed, fields: window.lastFields });
      }
    }
    return taken;
  }

  #window(event: string): Window {
    const name = this.#windows.has(event) || this.#windows.size < this.#options.eventsMax ? event : OVERFLOW;
    const open = this.#windows.get(name);
    const now = this.#options.now();
    // One that is over but left something out stays until that was told; it goes on counting meanwhile.
    if (open && (open.endsAtMs > now || open.suppressed > 0)) return open;
    const window: Window = {
      event: name,
      endsAtMs: now + this.#options.windowMs,
      seen: 0,
      suppressed: 0,
      lastFields: undefined,
    };
    this.#windows.set(name, window);
    return window;
  }
}
