// Starts commits at the end of the tick: all appends of a tick, of every connection, share them.

export class CommitScheduler {
  #waiting: Startable[] = [];

  schedule(committer: Startable): void {
    this.#waiting.push(committer);
    if (this.#waiting.length > 1) return;
    setImmediate(() => {
      const due = this.#waiting;
      this.#waiting = [];
      for (const each of due) each.start();
    });
  }
}

interface Startable {
  start(): void;
}
