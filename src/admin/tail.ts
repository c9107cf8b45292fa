// A topic as it is written, as server-sent events. What is more than the pace allows, or than the client takes, is left
// out and counted, unless the client asked to be waited for. Memory does not grow with either.
import type { PassThrough } from 'node:stream';
import type {
  Followed,
  Hub,
  Partition,
  RecordCursor,
  RecordRange,
  Timer,
  TopicView,
} from '../../protocols/port.ts';
import type { HttpCounters } from './http-counters.ts';
import type { RecordFilter } from './record-filter.ts';
import { recordJson, type ShownAs } from './record-json.ts';
import type { TailPace } from './tail-pace.ts';
import { positionText, type TailPosition } from './tail-position.ts';

export interface TailOptions {
  readonly counted: Pick<HttpCounters, 'recordsDelivered'>;
  readonly hub: Hub;
  readonly topic: TopicView;
  /** Where it begins, and which partitions it is of. */
  readonly position: TailPosition;
  /** Partitions that the topic is given meanwhile are followed too. */
  readonly followsNew: boolean;
  readonly visibility: 'lastStable' | 'highWatermark';
  readonly filter: RecordFilter;
  readonly shownAs: ShownAs;
  readonly overflow: 'drop' | 'wait';
  readonly pace: TailPace;
  readonly output: PassThrough;
}

/** Proxies and browsers give up on a connection that says nothing. */
const SILENCE_MAX_MS = 15_000;
/** How soon it is said that something was left out when nothing else is to be said. */
const TICK_MS = 500;
/** Read at a time of each partition. */
const READ_BYTES = 64 * 1024;
/** With more partitions the position stands on the last event of what is sent at once, not on each: it is long. */
const POSITION_ON_EACH_MAX = 64;
/** What a client has not taken yet; beyond it events are left out, or waited for. */
const BUFFERED_BYTES_MAX = 1024 * 1024;

export class Tail {
  readonly #options: TailOptions;
  readonly #topicText: string;
  readonly #followed = new Map<number, Followed>();
  readonly #onEnded: () => void;
  readonly #stopWatching: () => void;
  #dropped = 0;
  #timer: Timer | undefined;
  #spokeAtMs: number;
  #isEnded = false;

  /** @param onEnded called once, whoever ends it */
  constructor(options: TailOptions, onEnded: () => void) {
    const { hub, topic, position, output } = options;
    this.#options = options;
    this.#topicText = JSON.stringify(topic.name);
    this.#onEnded = onEnded;
    this.#spokeAtMs = hub.clock.monotonic();
    this.#say('start', JSON.stringify({ topic: topic.name, partitions: [...position.keys()] }));
    for (const number of position.keys()) {
      const partition = topic.partitions[number];
      if (partition !== undefined) this.#follow(partition);
    }
    this.#stopWatching = hub.topics.onChange(({ kind, topic: changed }) => {
      if (changed.topicId !== topic.topicId) return;
      if (kind === 'deleted') this.end('the topic was deleted');
      else if (kind === 'extended' && options.followsNew) this.#followNew(changed);
    });
    output.once('close', () => this.end(undefined));
    this.#tick();
  }

  /** @param reason undefined = the client is gone */
  end(reason: string | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stopWatching();
    this.#timer?.cancel();
    for (const followed of this.#followed.values()) followed.close();
    const { output } = this.#options;
    if (reason !== undefined) output.end(this.#event('end', JSON.stringify({ reason })));
    else output.destroy();
    this.#onEnded();
  }

  #followNew({ partitions }: TopicView): void {
    const { position } = this.#options;
    for (const partition of partitions) {
      if (position.has(partition.partition)) continue;
      position.set(partition.partition, 0);
      this.#follow(partition);
    }
  }

  #follow(partition: Partition): void {
    const { hub, position, visibility } = this.#options;
    const number = partition.partition;
    const cursor = hub.cursor();
    const followed = hub.follow(partition, {
      fromOffset: position.get(number) ?? 0,
      maxBytes: READ_BYTES,
      visibility,
      onRange: (range) => this.#show(number, cursor, range),
      onSkip: (fromOffset, toOffset) => {
        position.set(number, toOffset);
        this.#say('skipped', JSON.stringify({ partition: number, fromOffset, toOffset }));
      },
      onError: (code, message) => this.#say('error', JSON.stringify({ partition: number, code, message })),
    });
    this.#followed.set(number, followed);
  }

  /** A promise when the client is to be waited for. */
  #show(partition: number, cursor: RecordCursor, range: RecordRange): void | Promise<void> {
    cursor.reset(range);
    if (this.#options.overflow === 'wait') return this.#showAll(partition, cursor, range);
    let text = '';
    while (this.#nextMatch(partition, cursor)) {
      if (this.#mayShow(text.length)) text += this.#recordEvent(partition, cursor);
      else this.#pass(partition, cursor);
    }
    this.#passRange(partition, range);
    this.#write(text);
  }

  async #showAll(partition: number, cursor: RecordCursor, range: RecordRange): Promise<void> {
    let text = '';
    while (this.#nextMatch(partition, cursor)) {
      while (!this.#isEnded && !this.#mayShow(text.length)) {
        this.#write(text);
        text = '';
        await this.#room();
      }
      if (this.#isEnded) break;
      text += this.#recordEvent(partition, cursor);
    }
    if (!this.#isEnded) {
      this.#passRange(partition, range);
      this.#write(text);
    }
  }

  #nextMatch(partition: number, cursor: RecordCursor): boolean {
    const { position, filter } = this.#options;
    const from = position.get(partition) ?? 0;
    for (;;) {
      while (cursor.nextRecord()) {
        if (cursor.offset >= from && filter.matches(cursor)) return true;
      }
      if (!cursor.nextBatch()) return false;
    }
  }

  #mayShow(pendingCharacters: number): boolean {
    const { output, pace } = this.#options;
    return output.writableLength + pendingCharacters < BUFFERED_BYTES_MAX && pace.isOpen;
  }

  #recordEvent(partition: number, cursor: RecordCursor): string {
    const { position, shownAs, pace, counted } = this.#options;
    const dropped = this.#droppedEvent();
    position.set(partition, cursor.offset + 1);
    counted.recordsDelivered++;
    const data = recordJson(cursor, this.#topicText, partition, shownAs);
    pace.spend(data.length);
    const id = position.size <= POSITION_ON_EACH_MAX ? `id: ${positionText(position)}\n` : '';
    return `${dropped}${id}event: record\ndata: ${data}\n\n`;
  }

  #pass(partition: number, cursor: RecordCursor): void {
    this.#dropped++;
    this.#options.position.set(partition, cursor.offset + 1);
  }

  #passRange(partition: number, range: RecordRange): void {
    this.#options.position.set(partition, range.nextOffset);
    range.release?.();
  }

  #droppedEvent(): string {
    if (this.#dropped === 0) return '';
    const records = this.#dropped;
    this.#dropped = 0;
    return this.#event('dropped', JSON.stringify({ records }));
  }

  /** Until the client has taken what it has, or the pace allows more. */
  #room(): Promise<void> {
    const { hub, output, pace } = this.#options;
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        output.off('drain', done);
        output.off('close', done);
        resolve();
      };
      // What blocks is the pace or the socket; either way it is looked at again soon.
      const timer = hub.clock.setTimer(Math.min(pace.waitMs, TICK_MS), done);
      output.once('drain', done);
      output.once('close', done);
    });
  }

  #tick(): void {
    const { hub, output } = this.#options;
    this.#timer = hub.clock.setTimer(TICK_MS, () => {
      if (output.writableLength < BUFFERED_BYTES_MAX) {
        this.#write(this.#droppedEvent());
        const isSilent = hub.clock.monotonic() - this.#spokeAtMs >= SILENCE_MAX_MS;
        if (isSilent) this.#write(': still there\n\n');
      }
      this.#tick();
    });
  }

  #say(event: string, data: string): void {
    if (!this.#isEnded) this.#write(this.#event(event, data));
  }

  #event(event: string, data: string): string {
    return `id: ${positionText(this.#options.position)}\nevent: ${event}\ndata: ${data}\n\n`;
  }

  #write(text: string): void {
    if (text === '' || this.#isEnded) return;
    const { hub, output, position } = this.#options;
    // An event of a name that nobody listens to moves the position on.
    const isLong = position.size > POSITION_ON_EACH_MAX;
    output.write(isLong ? `${text}${this.#event('position', '{}')}` : text);
    this.#spokeAtMs = hub.clock.monotonic();
  }
}
