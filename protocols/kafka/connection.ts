// One client's socket: bytes to requests, requests to handlers one after another, answers in the order of the
// requests. All of a tick's answers go out in one write.
//
// A request is taken when everything before it has taken effect; what it may overlap is its API's word (api.ts).
// Three limits keep a client's memory bounded: requests taken and not answered, answers not read by the peer, and
// bytes read ahead of what is taken. At each the connection stops taking, then stops reading its socket.

import type { Socket } from 'node:net';
import type { Hub, Principal } from '../port.ts';
import { newSlot, type Slot, type Waiting } from './answer-slots.ts';
import { type Api, type Call, HANG_UP, type KafkaContext, type Later, type WrittenOutcome } from './api.ts';
import type { ApiIndex } from './api-index.ts';
import type { ConnectionMemory } from './connection-memory.ts';
import { FrameReader } from './framing.ts';
import { plainAddress } from './plain-address.ts';
import { WireError } from './wire/errors.ts';
import { type RequestHeader, readRequestHeader } from './wire/headers.ts';
import { WireReader } from './wire/reader.ts';
import type { WireWriter } from './wire/writer.ts';

/** Read while nothing can be taken, so that a client that hangs up meanwhile is noticed. */
const READ_AHEAD_BYTES_MAX = 256 * 1024;

export interface ConnectionOptions {
  readonly socket: Socket;
  readonly listener: string;
  readonly kafka: KafkaContext;
  readonly apis: ApiIndex;
  /** Shared by all connections: answers are written and handed over without an await between. */
  readonly writer: WireWriter;
  readonly memory: ConnectionMemory;
  onClosed(connection: Connection): void;
}

interface Request {
  readonly header: RequestHeader;
  readonly api: Api;
  readonly body: WireReader;
}

type Hurry = (why: 'gone' | 'stopping') => void;

export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #hub: Hub;
  readonly #frames: FrameReader;
  readonly #principal: Principal;
  readonly #reached: { readonly host: string; readonly port: number };
  readonly #slots: Slot[] = [];
  /** APIs with requests that took effect and are not answered, and how many. */
  readonly #pending = new Map<Api, number>();
  /** The latest that may still get company. */
  #waiting: Waiting | undefined;
  readonly #hurries = new Set<Hurry>();
  readonly #onHurry: Call['onHurry'] = (listener) => this.#addHurry(listener);
  /** Decoded as far as its header, and waiting for what came before it. */
  #next: Request | undefined;
  /** To be called when the answers that were written last have left. */
  #afterwards: (() => void)[] = [];
  /** What requests that took effect hold until they are answered. */
  #heldBytes = 0;
  #isBusy = false;
  #isPumping = false;
  #isFlushScheduled = false;
  #isDraining = false;
  #isClosed = false;
  #lastActivityMs: number;

  constructor(options: ConnectionOptions) {
    const { socket, kafka, listener } = options;
    this.#socket = socket;
    this.#options = options;
    this.#hub = kafka.hub;
    this.#frames = new FrameReader(kafka.settings.requestBytesMax);
    this.#principal = { name: 'ANONYMOUS', listener, remoteAddress: plainAddress(socket.remoteAddress) };
    this.#reached = { host: plainAddress(socket.localAddress), port: socket.localPort ?? 0 };
    this.#lastActivityMs = kafka.hub.clock.monotonic();
    socket.on('data', (chunk: Buffer) => {
      this.#lastActivityMs = this.#hub.clock.monotonic();
      this.#frames.push(chunk);
      this.#pump();
      this.#account();
    });
    socket.on('drain', () => {
      this.#sent();
      this.#account();
      this.#lastActivityMs = this.#hub.clock.monotonic();
      this.#pump();
    });
    socket.on('error', (error) => this.#log('kafka-connection-failed', { reason: error.message }));
    socket.on('close', () => this.#closed());
  }

  /** Since when there has been no traffic; undefined while a request is under way. */
  get idleSinceMs(): number | undefined {
    return this.#slots.length > 0 || this.#isBusy ? undefined : this.#lastActivityMs;
  }

  /** Answers what has been received whole, then closes. */
  drain(): void {
    if (this.#isDraining || this.#isClosed) return;
    this.#isDraining = true;
    this.#socket.pause();
    this.#hurry('stopping');
    this.#pump();
  }

  /** Closes now, whatever is under way. */
  abort(reason: string): void {
    this.#log('kafka-connection-closed', { reason });
    this.#isClosed = true;
    this.#socket.destroy();
  }

  relieve(): void {
    this.#fail('memory is short: a request that does not end, or answers that are not read');
  }

  // ------------------------------------------------------------------------------------------- taking

  #pump(): void {
    if (this.#isPumping || this.#isClosed) return;
    this.#isPumping = true;
    while (!this.#isBusy && this.#hasRoom()) {
      this.#next ??= this.#decodeNext();
      if (this.#next === undefined || !this.#mayStart(this.#next.api)) break;
      const request = this.#next;
      this.#next = undefined;
      this.#take(request);
    }
    this.#isPumping = false;
    if (this.#isClosed) return;
    if (this.#isDraining) this.#endIfDrained();
    else this.#pace();
  }

  #hasRoom(): boolean {
    const { unansweredRequestsMax, writeBacklogBytesMax, heldBytesMax } = this.#options.kafka.settings;
    return (
      !this.#isClosed &&
      this.#slots.length < unansweredRequestsMax &&
      this.#heldBytes < heldBytesMax &&
      this.#socket.writableLength < writeBacklogBytesMax
    );
  }

  #mayStart(api: Api): boolean {
    for (const pending of this.#pending.keys()) {
      if ((pending === api) !== (pending.overlaps === 'itself')) return false;
    }
    return true;
  }

  #pace(): void {
    const isAhead = this.#frames.heldBytes >= READ_AHEAD_BYTES_MAX && (this.#isBlocked() || this.#isBusy);
    if (isAhead && !this.#socket.isPaused()) this.#socket.pause();
    else if (!isAhead && this.#socket.isPaused()) this.#socket.resume();
  }

  #isBlocked(): boolean {
    return this.#next !== undefined || !this.#hasRoom();
  }

  /** The next request, or undefined when bytes are missing or the connection had to be closed. */
  #decodeNext(): Request | undefined {
    const frame = this.#frames.next();
    if (frame === undefined) {
      const { fault, pendingLength } = this.#frames;
      if (fault !== undefined) this.#fail(`a request of ${pendingLength} bytes: ${fault}`);
      return undefined;
    }
    const body = new WireReader(frame);
    try {
      const header = readRequestHeader(body);
      const { apiKey, apiVersion } = header;
      const api = this.#options.apis.find(apiKey, apiVersion);
      if (api !== undefined) return { header, api, body };
      this.#fail(
        this.#options.apis.has(apiKey)
          ? `API ${apiKey} has no version ${apiVersion}`
          : `unknown API key ${apiKey}`,
      );
    } catch (error) {
      this.#failWith(error, 'request header');
    }
    return undefined;
  }

  #call(header: RequestHeader): Call {
    return {
      kafka: this.#options.kafka,
      version: header.apiVersion,
      clientId: header.clientId,
      principal: this.#principal,
      reached: this.#reached,
      onHurry: this.#onHurry,
    };
  }

  #take({ header, api, body }: Request): void {
    const { correlationId } = header;
    const { timings } = this.#options.kafka;
    const slot = newSlot(correlationId, timings.of(api), this.#hub.clock.monotonic());
    this.#slots.push(slot);
    try {
      const outcome = api.handle(body, this.#call(header));
      if (!(outcome instanceof Promise)) {
        this.#took(api, slot, outcome);
        return;
      }
      this.#isBusy = true;
      void outcome.then(
        (done) => {
          this.#isBusy = false;
          this.#took(api, slot, done);
          this.#pump();
        },
        (error: unknown) => this.#failWith(error, api.name),
      );
    } catch (error) {
      this.#failWith(error, api.name);
    }
  }

  /** The request took effect; its answer is here or will be. */
  #took(api: Api, slot: Slot, { write, later }: WrittenOutcome): void {
    slot.write = write;
    if (later === undefined) {
      slot.isReady = true;
      this.#scheduleFlush();
      return;
    }
    slot.afterwards = later.afterwards;
    this.#heldBytes += later.heldBytes;
    this.#pending.set(api, (this.#pending.get(api) ?? 0) + 1);
    const waiting = this.#waitingFor(api, later);
    waiting.slots.push(slot);
    waiting.heldBytes += later.heldBytes;
  }

  #waitingFor(api: Api, { ready, settled }: Later<unknown>): Waiting {
    const latest = this.#waiting;
    if (latest?.ready === ready && latest.settled === settled) return latest;
    const waiting: Waiting = { api, ready, settled, slots: [], heldBytes: 0 };
    this.#waiting = waiting;
    const fail = (error: unknown): void => this.#failWith(error, api.name);
    ready.then((result) => this.#ready(waiting, result), fail);
    if (settled !== ready) settled.then(() => this.#settled(waiting), fail);
    return waiting;
  }

  #ready(waiting: Waiting, result: unknown): void {
    if (this.#waiting === waiting) this.#waiting = undefined;
    for (const slot of waiting.slots) {
      slot.result = result;
      slot.isReady = true;
    }
    if (waiting.settled === waiting.ready) this.#settled(waiting);
    else this.#scheduleFlush();
  }

  #settled(waiting: Waiting): void {
    if (this.#waiting === waiting) this.#waiting = undefined;
    const { api, slots, heldBytes } = waiting;
    this.#heldBytes -= heldBytes;
    const left = (this.#pending.get(api) ?? 0) - slots.length;
    if (left > 0) this.#pending.set(api, left);
    else this.#pending.delete(api);
    // What waits for it is taken in the same tick as the answer is written.
    this.#scheduleFlush();
  }

  // ---------------------------------------------------------------------------------------- answering

  /** Answers that come in one tick, as those of one group commit do, leave in one write. */
  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#isClosed) return;
    const { writer } = this.#options;
    let answered = 0;
    let isHangingUp = false;
    try {
      const nowMs = this.#hub.clock.monotonic();
      for (const slot of this.#slots) {
        const { write, isReady, correlationId, result, timings, takenAtMs } = slot;
        if (!isReady || write === undefined) break;
        isHangingUp = write(writer, correlationId, result) === HANG_UP;
        if (isHangingUp) break;
        timings.observe((nowMs - takenAtMs) / 1000);
        if (slot.afterwards !== undefined) this.#afterwards.push(slot.afterwards);
        answered++;
      }
    } catch (error) {
      writer.rewind(0);
      this.#failWith(error, 'answer');
      return;
    }
    this.#slots.splice(0, answered);
    if (writer.length > 0) writer.writeTo(this.#socket);
    if (this.#afterwards.length > 0 && this.#socket.writableLength === 0) setImmediate(() => this.#sent());
    this.#account();
    if (isHangingUp) this.#hangUp();
    this.#pump();
  }

  /** The system has all that was written. */
  #sent(): void {
    if (this.#afterwards.length === 0 || this.#socket.writableLength > 0) return;
    const due = this.#afterwards;
    this.#afterwards = [];
    for (const afterwards of due) afterwards();
  }

  // ------------------------------------------------------------------------------------------ closing

  #endIfDrained(): void {
    const isDone = this.#slots.length === 0 && this.#next === undefined && !this.#isBusy;
    if (!isDone || this.#socket.writableEnded) return;
    this.#socket.end();
    // What still comes is read and thrown away: closing with unread bytes would reset the connection, and the
    // peer would lose the last answers.
    this.#socket.removeAllListeners('data');
    this.#socket.resume();
  }

  /** What is written already still goes out. */
  #hangUp(): void {
    this.#log('kafka-connection-closed', { reason: 'a request that wants no answer failed' });
    this.#isClosed = true;
    this.#socket.destroySoon();
  }

  #fail(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#hub.log.warn('kafka-connection-closed', { ...this.#who(), reason });
    this.#socket.destroy();
  }

  #failWith(error: unknown, what: string): void {
    if (error instanceof WireError) {
      this.#fail(`${what}: ${error.message}`);
      return;
    }
    if (!this.#isClosed) this.#hub.log.error('kafka-request-failed', { ...this.#who(), what, error });
    this.#isClosed = true;
    this.#socket.destroy();
  }

  #account(): void {
    this.#options.memory.set(this, this.#frames.capacityBytes + this.#socket.writableLength);
  }

  #closed(): void {
    this.#isClosed = true;
    this.#options.memory.set(this, 0);
    this.#hurry('gone');
    this.#slots.length = 0;
    this.#afterwards = [];
    this.#next = undefined;
    this.#options.onClosed(this);
  }

  #addHurry(listener: Hurry): () => void {
    if (this.#isClosed || this.#isDraining) {
      const why = this.#isClosed ? 'gone' : 'stopping';
      queueMicrotask(() => listener(why));
      return () => {};
    }
    this.#hurries.add(listener);
    return () => this.#hurries.delete(listener);
  }

  #hurry(why: 'gone' | 'stopping'): void {
    const listeners = [...this.#hurries];
    this.#hurries.clear();
    for (const listener of listeners) listener(why);
  }

  #log(event: string, fields: object): void {
    this.#hub.log.debug(event, { ...this.#who(), ...fields });
  }

  #who(): object {
    return { listener: this.#options.listener, remote: this.#principal.remoteAddress };
  }
}
