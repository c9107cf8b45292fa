// A Kafka front end over a real hub and store on a free port, and a client that speaks it by the message schemas.

import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { FrameReader } from '../../../protocols/kafka/framing.ts';
import { createKafkaFrontEnd } from '../../../protocols/kafka/front-end.ts';
import type { KafkaOptions } from '../../../protocols/kafka/settings.ts';
import { writeRequestFrame } from '../../../protocols/kafka/wire/headers.ts';
import type { Message } from '../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../protocols/kafka/wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../../protocols/kafka/wire/writer.ts';
import type { FrontEnd } from '../../../protocols/port.ts';
import {
  openTestHub,
  type TestHub,
  type TestHubOptions,
  temporaryDirectory,
} from '../../src/hub/hub-fixture.ts';

export interface TestKafka extends TestHub {
  readonly frontEnd: FrontEnd;
  readonly port: number;
  readonly directory: string;
  connect(): Promise<KafkaSocket>;
}

/** No delay before a first round, unless a test is about it. */
const QUICK: KafkaOptions = { groupInitialRebalanceDelayMs: 0, groupMinSessionTimeoutMs: 50 };

export async function openTestKafka(
  options: KafkaOptions = {},
  hubOptions: TestHubOptions = {},
  directory = temporaryDirectory(),
): Promise<TestKafka> {
  const testHub = await openTestHub(directory, hubOptions);
  const frontEnd = await createKafkaFrontEnd(testHub.hub, { ...QUICK, ...options });
  const { port } = await frontEnd.listen({ name: 'kafka', host: '127.0.0.1', port: 0, connectionsMax: 50 });
  const close = async (): Promise<void> => {
    await frontEnd.close();
    await testHub.close();
  };
  onTestFinished(close);
  return { ...testHub, close, frontEnd, port, directory, connect: () => KafkaSocket.connect(port) };
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

  #take(chunk: Buffer): void {
    this.#frames.push(chunk);
    for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next()) {
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
