// A hub with its Kafka front end on a file system that forgets, without sockets: requests go to the handlers as bytes and
// come back as bytes. A process ends at any turn of the event loop; what it still had to do has no effect and no end.
import type { Api, KafkaContext } from '../../protocols/kafka/api.ts';
import { ApiIndex } from '../../protocols/kafka/api-index.ts';
import { APIS } from '../../protocols/kafka/apis.ts';
import { openKafkaContext } from '../../protocols/kafka/front-end.ts';
import { readRequestHeader, writeRequestFrame } from '../../protocols/kafka/wire/headers.ts';
import { WireReader } from '../../protocols/kafka/wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../protocols/kafka/wire/writer.ts';
import type { Clock, Random } from '../../protocols/port.ts';
import { type LocalHub, openHub } from '../../src/hub/hub.ts';
import { type LogStore, type MetaStore, openLogStore } from '../../storage/index.ts';
import { type Fault, FaultyFileSystem, type Keep, type RandomSource } from '../helpers/faulty-file-system.ts';
import { MemoryIndex, TestClock, TestLog } from '../helpers/store-fixture.ts';
import { type ApiMessages, readAnswer } from '../protocols/kafka/kafka-fixture.ts';
import { TOPIC_DEFAULTS } from '../src/hub/hub-fixture.ts';
import { MemoryMetaStore } from './memory-meta-store.ts';

/** Of the event loop: what has not come by then will not. */
const TURNS_MAX = 20_000;

export const ABORT_CHECK_MS = 10_000;
export const ID_EXPIRATION_MS = 2 * 3_600_000;

const NEVER = new Promise<never>(() => {});
const WRITER = new WireWriter();
const SERVED = new ApiIndex(APIS);

interface Process {
  readonly hub: LocalHub;
  readonly store: LogStore;
  readonly kafka: KafkaContext;
  readonly metaStore: MetaStore;
  readonly log: TestLog;
}

export class TransactionWorld {
  readonly clock = new TestClock();
  readonly #random: RandomSource;
  readonly #files = new FaultyFileSystem(['/']);
  readonly #index = new MemoryIndex();
  readonly #metaStore = new MemoryMetaStore();
  #process: Process | undefined;
  #generation = 0;

  readonly #statePartitions: number;

  constructor(random: RandomSource, statePartitions: number) {
    this.#random = random;
    this.#statePartitions = statePartitions;
    this.#files.random = random;
    this.#files.now = () => this.clock.now();
    if (random() < 0.3) this.#files.turns = () => 1 + Math.floor(random() * 4);
    this.#files.hasSynchronousFiles = random() < 0.5;
  }

  get now(): Process {
    if (this.#process === undefined) throw new Error('no process');
    return this.#process;
  }

  /** The next process; it may be ended before this resolves, which then never happens. */
  async open(): Promise<void> {
    const generation = this.#generation;
    const isAlive = (): boolean => generation === this.#generation;
    const log = new TestLog();
    const surroundings = { clock: this.#clockOf(isAlive), random: this.#randomness(), log };
    const store = await openLogStore({
      ...{ directory: '/data', nodeId: 7, ...surroundings },
      ...{ fileSystem: this.#files.process(), index: this.#index, checkIntervalMs: 0 },
      ...{ tailCacheBytes: 256 * 1024, compactionMapBytes: 64 * 1024 },
    });
    const metaStore = this.#metaStore.process(isAlive);
    const hub = await openHub({
      ...{ store, metaStore, nodeId: 7, rack: undefined, declaredTopics: [], advertised: new Map() },
      topics: { ...TOPIC_DEFAULTS, statePartitions: this.#statePartitions },
      ...surroundings,
    });
    const kafka = await openKafkaContext(hub, {
      transactionAbortCheckMs: ABORT_CHECK_MS,
      transactionalIdExpirationMs: ID_EXPIRATION_MS,
    });
    this.#process = { hub, store, metaStore, log, kafka: { ...kafka, listeners: () => [] } };
  }

  /** The disk has done what it was asked for: time that passes is none that a flush has taken. */
  async untilDiskRests(): Promise<void> {
    await this.until(
      () => this.#files.isAtRest,
      () => 'rest of the disk',
    );
  }

  /** Faults that strike the next operations of their kinds; with the process they are gone. */
  arm(...faults: Fault[]): void {
    this.#files.arm(...faults);
  }

  /** The process is killed, or the machine stops and keeps what it keeps. */
  end(how: 'kill' | Keep): void {
    this.#generation++;
    this.#process = undefined;
    if (how === 'kill') this.#files.kill();
    else {
      this.#files.crash(how, this.#random);
      this.#index.crash(this.#random);
    }
  }

  async close(): Promise<void> {
    const { hub, kafka, store } = this.now;
    kafka.groups.drain();
    kafka.transactions.drain();
    kafka.offsets.close();
    kafka.groups.close();
    kafka.transactions.close();
    hub.close();
    await store.close();
    this.end('kill');
  }

  /** Never resolves when the process ends before the answer. */
  async ask<Req extends Fields, Res extends Fields>(
    api: ApiMessages<Req, Res>,
    version: number,
    request: StructInput<Req>,
  ): Promise<StructValue<Res>> {
    const generation = this.#generation;
    const { kafka } = this.now;
    // Between a write and its reading there is no await.
    const writer = WRITER;
    const header = { apiKey: api.key, apiVersion: version, correlationId: 1, clientId: 'test' };
    writeRequestFrame(writer, header, api.request, request);
    const reader = new WireReader(writer.take().subarray(4));
    readRequestHeader(reader);
    const served = SERVED.find(api.key, version) as Api; // tests ask for what is served
    const { later, write } = await served.handle(reader, {
      ...{ kafka, version, clientId: 'test', reached: { host: 'localhost', port: 1 } },
      principal: { name: 'ANONYMOUS', listener: 'kafka', remoteAddress: '127.0.0.1' },
      onHurry: () => () => {},
    });
    const result = await later?.ready;
    if (generation !== this.#generation) return NEVER;
    write(writer, 1, result);
    return readAnswer(api.response, version, writer.take().subarray(8));
  }

  /** Turns of the event loop until the condition holds. */
  async until(condition: () => boolean, what: () => string): Promise<void> {
    for (let turns = 0; !condition(); turns++) {
      if (turns === TURNS_MAX) throw new Error(`it does not come: ${what()}`);
      await this.turns(1);
    }
  }

  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #clockOf(isAlive: () => boolean): Clock {
    const { clock } = this;
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      setTimer: (delayMs, callback) => clock.setTimer(delayMs, () => isAlive() && callback()),
    };
  }

  #randomness(): Random {
    const below = (bound: number): number => Math.floor(this.#random() * bound);
    const digits = (count: number): string =>
      Array.from({ length: count }, () => below(16).toString(16)).join('');
    return { below, uuid: () => `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}` };
  }
}
