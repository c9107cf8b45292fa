// A Kafka front end over a real hub and store on a free port, and a client that speaks it by the message schemas.

import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { FrameReader } from '../../../protocols/kafka/framing.ts';
import { createKafkaFrontEnd, type KafkaFrontEnd } from '../../../protocols/kafka/front-end.ts';
import type { KafkaOptions } from '../../../protocols/kafka/settings.ts';
import { writeRequestFrame } from '../../../protocols/kafka/wire/headers.ts';
import type { Message } from '../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../protocols/kafka/wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../../protocols/kafka/wire/writer.ts';
import type { Clock, Partition, Timer } from '../../../protocols/port.ts';
import type { TopicDefaults } from '../../../src/config/broker-config.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from '../../../src/hub/clock.ts';
import { type LocalHub, openHub } from '../../../src/hub/hub.ts';
import type { FileSystem } from '../../../storage/file-system.ts';
import { type LogStore, openLogStore, openMetaStore } from '../../../storage/index.ts';
import { TOPIC_DEFAULTS } from '../../src/hub/hub-fixture.ts';
import { TestLog } from '../../src/hub/test-log.ts';

export interface KafkaFixtureOptions extends KafkaOptions {
  readonly topics?: Partial<TopicDefaults>;
  readonly fileSystem?: FileSystem;
  readonly clock?: Clock;
  /** Its data is kept when given. */
  readonly directory?: string;
}

export interface TestKafka {
  readonly hub: LocalHub;
  readonly store: LogStore;
  readonly log: TestLog;
  readonly frontEnd: KafkaFrontEnd;
  readonly port: number;
  readonly directory: string;
  connect(): Promise<KafkaSocket>;
  createTopic(
    name: string,
    config?: Readonly<Record<string, string>>,
    partitions?: number,
  ): Promise<Partition>;
  close(): Promise<void>;
}

/** To be closed by the caller: for tests that share one. */
export async function openKafka(options: KafkaFixtureOptions = {}): Promise<TestKafka> {
  const { topics, fileSystem, clock = SYSTEM_CLOCK, ...kafkaOptions } = options;
  const directory = options.directory ?? mkdtempSync(path.join(tmpdir(), 'polylog-kafka-'));
  const log = new TestLog();
  const surroundings = { clock, random: SYSTEM_RANDOM, log };
  const store = await openLogStore({
    directory,
    nodeId: 7,
    ...surroundings,
    ...(fileSystem === undefined ? {} : { fileSystem }),
  });
  const metaStore = await openMetaStore(path.join(directory, 'meta'));
  const hub = await openHub({
    ...{ store, metaStore, nodeId: 7, rack: undefined, declaredTopics: [], advertised: new Map() },
    topics: { ...TOPIC_DEFAULTS, ...topics },
    ...surroundings,
  });
  // No delay before a first round, unless a test is about it.
  const quick = { groupInitialRebalanceDelayMs: 0, groupMinSessionTimeoutMs: 50 };
  const frontEnd = await createKafkaFrontEnd(hub, { ...quick, ...kafkaOptions });
  const { port } = await frontEnd.listen({ name: 'kafka', host: '127.0.0.1', port: 0, connectionsMax: 50 });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await frontEnd.close();
    hub.close();
    await metaStore.close();
    await store.close();
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  return {
    ...{ hub, store, log, frontEnd, port, directory },
    connect: () => KafkaSocket.connect(port),
    async createTopic(name, config = {}, partitions = 1) {
      const made = await hub.topics.create({ name, partitions, replicationFactor: -1, config });
      if ('error' in made) throw new Error(`${made.error}: ${made.message}`);
      return hub.topics.partition(name, 0)!;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Closed when the test is over. */
export async function openTestKafka(options: KafkaFixtureOptions = {}): Promise<TestKafka> {
  const kafka = await openKafka(options);
  onTestFinished(() => kafka.close());
  return kafka;
}

interface Waiting {
  readonly correlationId: number;
  resolve(answer: Buffer): void;
  reject(error: Error): void;
}

/** One connection. Requests may be pipelined: answers are expected in the order of the requests. */
export class KafkaSocket {
  readonly socket: Socket;
  /** Resolves when the hub has closed the connection. */
  readonly closed: Promise<void>;
  readonly #frames = new FrameReader(1 << 30);
  readonly #waiting: Waiting[] = [];
  readonly #raw: Waiting[] = [];
  /** Correlation ids of the answers, as they came. */
  readonly answered: number[] = [];
  #correlationId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const { reject } of this.#waiting.splice(0)) reject(new Error('the hub closed the connection'));
        resolve();
      });
    });
    onTestFinished(() => void socket.destroy());
  }

  static connect(port: number): Promise<KafkaSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new KafkaSocket(socket)));
    });
  }

  /** The bytes of one request, its length included; its answer must be waited for with {@link answer}. */
  frame<Req extends Fields>(
    api: ApiMessages<Req, Fields>,
    version: number,
    request: StructInput<Req>,
  ): Buffer {
    const writer = new WireWriter();
    const header = {
      apiKey: api.key,
      apiVersion: version,
      correlationId: ++this.#correlationId,
      clientId: 'test',
    };
    writeRequestFrame(writer, header, api.request, request);
    return writer.take();
  }

  /** Sends a request; resolves with its answer, or rejects when the hub closes the connection first. */
  async ask<Req extends Fields, Res extends Fields>(
    api: ApiMessages<Req, Res>,
    version: number,
    request: StructInput<Req>,
  ): Promise<StructValue<Res>> {
    const frame = this.frame(api, version, request);
    const answer = this.answer();
    this.socket.write(frame);
    return readAnswer(api.response, version, await answer);
  }

  /** Sends requests in one write. */
  async askAtOnce<Req extends Fields, Res extends Fields>(
    requests: readonly (readonly [ApiMessages<Req, Res>, number, StructInput<Req>])[],
  ): Promise<StructValue<Res>[]> {
    const frames: Buffer[] = [];
    const answers = requests.map(async ([api, version, request]) => {
      frames.push(this.frame(api, version, request));
      return readAnswer(api.response, version, await this.answer());
    });
    this.socket.write(Buffer.concat(frames));
    return Promise.all(answers);
  }

  /** Sends a request that has no answer. */
  tell<Req extends Fields>(api: ApiMessages<Req, Fields>, version: number, request: StructInput<Req>): void {
    this.socket.write(this.frame(api, version, request));
  }

  /** The next answer that is not waited for yet, behind its correlation id. */
  answer(): Promise<Buffer> {
    const answer = new Promise<Buffer>((resolve, reject) => {
      this.#waiting.push({ correlationId: this.#correlationId, resolve, reject });
    });
    answer.catch(() => undefined); // whoever waits for it hears of it
    return answer;
  }

  /** The next answer as it came, its correlation id included. */
  answerRaw(): Promise<Buffer> {
    return new Promise((resolve, reject) => this.#raw.push({ correlationId: -1, resolve, reject }));
  }

  #take(chunk: Buffer): void {
    this.#frames.push(chunk);
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
      const raw = this.#raw.shift();
      if (raw !== undefined) {
        raw.resolve(Buffer.from(frame));
        continue;
      }
      const correlationId = frame.readInt32BE(0);
      this.answered.push(correlationId);
      const waiting = this.#waiting.shift();
      if (waiting === undefined) throw new Error(`an answer ${correlationId} that nobody asked for`);
      if (waiting.correlationId !== correlationId)
        waiting.reject(new Error(`answer ${correlationId} where ${waiting.correlationId} was due`));
      else waiting.resolve(Buffer.from(frame.subarray(4)));
    }
  }
}

export interface ApiMessages<Req extends Fields, Res extends Fields> {
  readonly key: number;
  readonly request: Message<Req>;
  readonly response: Message<Res>;
}

export function readAnswer<Res extends Fields>(
  response: Message<Res>,
  version: number,
  body: Buffer,
): StructValue<Res> {
  const reader = new WireReader(body);
  if (response.hasFlexibleHeader(version)) reader.skipTaggedFields();
  const value = response.read(reader, version);
  if (reader.remaining > 0) throw new Error(`${reader.remaining} bytes behind ${response.name}`);
  return value;
}

/** Resolves when the method is called next; what it does and returns stays. */
export function whenCalled<Name extends string>(
  target: Readonly<Record<Name, unknown>>,
  name: Name,
): Promise<void> {
  return new Promise((resolve) => {
    const method = target[name] as (...args: unknown[]) => unknown; // the name of a method, by its callers
    Object.defineProperty(target, name, {
      configurable: true,
      value: (...args: unknown[]) => {
        Object.defineProperty(target, name, { configurable: true, value: method });
        resolve();
        return method.apply(target, args);
      },
    });
  });
}

/** The real clock, but time can be skipped: what is due in it fires at once. */
export class SkippingClock implements Clock {
  #skippedMs = 0;
  readonly #timers = new Set<{ readonly dueMs: number; fire(): void }>();

  now(): number {
    return SYSTEM_CLOCK.now() + this.#skippedMs;
  }

  monotonic(): number {
    return SYSTEM_CLOCK.monotonic() + this.#skippedMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = {
      dueMs: this.monotonic() + delayMs,
      fire: () => {
        cancel();
        callback();
      },
    };
    const real = SYSTEM_CLOCK.setTimer(delayMs, () => timer.fire());
    const cancel = (): void => {
      real.cancel();
      this.#timers.delete(timer);
    };
    this.#timers.add(timer);
    return { cancel };
  }

  skip(durationMs: number): void {
    this.#skippedMs += durationMs;
    for (const timer of [...this.#timers]) if (timer.dueMs <= this.monotonic()) timer.fire();
  }
}
