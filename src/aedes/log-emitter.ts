// An mqemitter over the hub's log: what is emitted is on disk, where Kafka reads it, before a listener hears of it; and what
// others write to the log is heard as well. Its methods are those of mqemitter.
import { setImmediate } from 'node:timers';
import type { MessagingDirectory, Principal } from '../../protocols/port.ts';
import { AedesStoreError } from './aedes-state.ts';
import type { Deliveries } from './deliveries.ts';
import { type FilterSyntax, FilterTree, MQTT_SYNTAX } from './filter-tree.ts';
import { messageOf } from './message.ts';

/** Whatever has a topic. */
export interface EmittedMessage {
  readonly topic: string;
  readonly payload?: unknown;
  readonly [field: string]: unknown;
}

export type Listener = (this: LogEmitter, message: EmittedMessage, done: () => void) => void;

export interface EmitterOptions extends Partial<FilterSyntax> {
  /** Messages that are with listeners at once; 0 = any number. */
  readonly concurrency?: number;
}

export interface EmitterTarget {
  readonly messaging: MessagingDirectory;
  readonly deliveries: Deliveries;
  /** A message that came from the log: it is there already. */
  isFromLog(message: EmittedMessage): boolean;
  /** A place in the log that is about to be filled with a message of this emitter's. */
  noteOwn(topic: string, partition: number, offset: number): void;
  close(): void;
}

const WHO: Principal = { name: 'ANONYMOUS', listener: 'aedes', remoteAddress: '' };

type Done = (error?: Error) => void;

export class LogEmitter {
  /** Messages that are with listeners. */
  current = 0;
  closed = false;
  readonly concurrency: number;
  readonly #target: EmitterTarget;
  readonly #listeners: FilterTree<Listener>;
  readonly #queue: { readonly message: EmittedMessage; readonly done: Done }[] = [];
  readonly #appending = new Set<Promise<unknown>>();

  constructor(target: EmitterTarget, options: EmitterOptions = {}) {
    const { concurrency = 0, ...syntax } = options;
    this.#target = target;
    this.concurrency = concurrency;
    this.#listeners = new FilterTree({ ...MQTT_SYNTAX, ...syntax });
  }

  /** Messages that wait for their turn. */
  get length(): number {
    return this.#queue.length;
  }

  on(topic: string, listener: Listener, done?: () => void): this {
    this.#listeners.add(topic, listener);
    if (done !== undefined) setImmediate(done);
    return this;
  }

  removeListener(topic: string, listener: Listener, done?: () => void): this {
    this.#listeners.remove(topic, (each) => each === listener);
    if (done !== undefined) setImmediate(done);
    return this;
  }

  removeAllListeners(topic: string, done?: () => void): this {
    this.#listeners.remove(topic, undefined);
    if (done !== undefined) setImmediate(done);
    return this;
  }

  /**
   * `done` is called when the message is on disk and every listener has dealt with it; or with why it is not, or with what
   * a listener has thrown, which keeps it from no other.
   */
  emit(message: EmittedMessage, done: Done = () => undefined): this {
    if (this.closed) {
      done(new AedesStoreError('closed', 'mqemitter is closed'));
    } else if (message.topic.startsWith('$') || this.#target.isFromLog(message)) {
      // What is of this broker alone, or lies in the log.
      this.#hand(message, done);
    } else {
      const appending = this.#append(message);
      this.#appending.add(appending);
      void appending.then((error) => {
        this.#appending.delete(appending);
        if (error === undefined) this.#hand(message, done);
        else done(error);
      });
    }
    return this;
  }

  /** `done` is called when what was emitted is on disk. */
  close(done: () => void = () => undefined): this {
    this.closed = true;
    this.#target.close();
    void Promise.all(this.#appending).then(() => setImmediate(done));
    return this;
  }

  /** On disk when it resolves, or why not. Never rejects. */
  async #append(message: EmittedMessage): Promise<Error | undefined> {
    const { messaging } = this.#target;
    try {
      const published = await messaging.publisher.publish(WHO, messageOf(message), (place) =>
        this.#target.noteOwn(place.topic, place.partition, place.offset),
      );
      if (published.refused === undefined) return undefined;
      return new AedesStoreError(published.refused, published.message);
    } catch (error) {
      // A payload of the application's own that cannot be made JSON.
      return asError(error);
    }
  }

  #hand(message: EmittedMessage, done: Done): void {
    if (this.concurrency > 0 && this.current >= this.concurrency) this.#queue.push({ message, done });
    else this.#deliver(message, done);
  }

  #deliver(emitted: EmittedMessage, done: Done): void {
    const { deliveries } = this.#target;
    const listeners = this.#listeners.match(emitted.topic);
    const message = deliveries.begin(emitted);
    let left = listeners.length;
    let thrown: Error | undefined;
    let isFinished = false;
    this.current++;
    const finish = (): void => {
      isFinished = true;
      this.current--;
      deliveries.end(message);
      try {
        done(thrown);
      } finally {
        const next = this.#queue.shift();
        if (next !== undefined) this.#deliver(next.message, next.done);
      }
    };
    if (left === 0) finish();
    for (const listener of listeners) {
      let isDone = false;
      const end = (): void => {
        if (isDone) return;
        isDone = true;
        if (--left === 0) finish();
      };
      try {
        listener.call(this, message, end);
      } catch (error) {
        // Behind the end nobody is left to be told: it is what `done` has thrown, or the last listener behind its own end.
        if (isFinished) throw error;
        thrown ??= asError(error);
        end();
      }
    }
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
