// Kafka clients that do a known amount of work: Produce requests that are encoded beforehand, Fetch requests by offset, and
// any request again and again. One connection each, so many requests in flight on it.
import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../../protocols/kafka/framing.ts';
import {
  CreateTopicsRequest,
  CreateTopicsResponse,
} from '../../../protocols/kafka/messages/create-topics.ts';
import { FetchRequest, FetchResponse } from '../../../protocols/kafka/messages/fetch.ts';
import { ProduceRequest, ProduceResponse } from '../../../protocols/kafka/messages/produce.ts';
import { writeRequestFrame } from '../../../protocols/kafka/wire/headers.ts';
import type { Message } from '../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../protocols/kafka/wire/reader.ts';
import type { Fields, StructInput, StructValue } from '../../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../../protocols/kafka/wire/writer.ts';

const PRODUCE = { key: 0, version: 9, request: ProduceRequest, response: ProduceResponse } as const;
const FETCH = { key: 1, version: 12, request: FetchRequest, response: FetchResponse } as const;
const CREATE_TOPICS = {
  key: 19,
  version: 5,
  request: CreateTopicsRequest,
  response: CreateTopicsResponse,
} as const;
const ANSWER_BYTES_MAX = 1 << 30;
const ADDRESSES = 8;

/** A request and its answer, in one version. */
export interface Api<Req extends Fields, Res extends Fields> {
  readonly key: number;
  readonly version: number;
  readonly request: Message<Req>;
  readonly response: Message<Res>;
}

export class KafkaConnection {
  readonly #socket: Socket;
  readonly #frames = new FrameReader(ANSWER_BYTES_MAX);
  /** Gets each answer, in the order of the requests; its bytes are looked at before it returns. */
  onAnswer: (frame: Buffer) => void = () => undefined;
  onLost: (error: Error) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes: Buffer) => {
      socket.cork();
      this.#frames.push(bytes);
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next())
        this.onAnswer(frame);
      socket.uncork();
    });
    socket.on('error', () => undefined);
    socket.once('close', () => this.onLost(new Error('the hub closed the connection')));
  }

  /** @param number gives it one of several addresses: the ports of one are too few for very many */
  static open(port: number, number = 0): Promise<KafkaConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(number), noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new KafkaConnection(socket)));
    });
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** For one request at a time. */
  async ask<Req extends Fields, Res extends Fields>(
    api: Api<Req, Res>,
    body: StructInput<Req>,
  ): Promise<StructValue<Res>> {
    const answer = new Promise<StructValue<Res>>((resolve, reject) => {
      this.onAnswer = (frame) => resolve(answerOf(api, Buffer.from(frame)));
      this.onLost = reject;
    });
    this.send(requestFrame(api, body));
    return answer;
  }

  close(): void {
    this.onLost = () => undefined;
    this.#socket.destroy();
  }
}

export function addressOf(number: number): string {
  return `127.0.0.${1 + (number % ADDRESSES)}`;
}

export function requestFrame<Req extends Fields, Res extends Fields>(
  { key, version, request }: Api<Req, Res>,
  body: StructInput<Req>,
): Buffer {
  const writer = new WireWriter();
  writeRequestFrame(
    writer,
    { apiKey: key, apiVersion: version, correlationId: 1, clientId: 'scale' },
    request,
    body,
  );
  return writer.take();
}

export function answerOf<Req extends Fields, Res extends Fields>(
  { version, response }: Api<Req, Res>,
  frame: Buffer,
): StructValue<Res> {
  // An answer of very many partitions is no attack: without the limits on what a request may take.
  const reader = new WireReader(frame).again(4, frame.length);
  if (response.hasFlexibleHeader(version)) reader.skipTaggedFields();
  return response.read(reader, version);
}

/** Uses a connection for one piece of work. */
export async function withKafka<Result>(
  port: number,
  work: (connection: KafkaConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await KafkaConnection.open(port);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

export async function createTopic(port: number, name: string, numPartitions: number): Promise<void> {
  const topic = { name, numPartitions, replicationFactor: -1, assignments: [], configs: [] };
  const body = { topics: [topic], timeoutMs: 120_000, validateOnly: false };
  const { topics } = await withKafka(port, (connection) => connection.ask(CREATE_TOPICS, body));
  const [made] = topics;
  if (made === undefined || made.errorCode !== 0)
    throw new Error(`${name} was not made: ${made?.errorMessage}`);
}

export interface RequestsInTurns {
  readonly requests: number;
  /** On each connection. */
  readonly inFlight: number;
  readonly request: (index: number) => Buffer;
  /** Throws when the answer is none. */
  readonly check: (frame: Buffer) => void;
}

/** A closed loop: whichever connection has an answer sends the next request. */
export function requestInTurns(
  connections: readonly KafkaConnection[],
  { requests, inFlight, request, check }: RequestsInTurns,
): Promise<void> {
  let sent = 0;
  let answered = 0;
  return new Promise((resolve, reject) => {
    for (const connection of connections) {
      const sendNext = (): void => {
        if (sent < requests) connection.send(request(sent++));
      };
      connection.onLost = reject;
      connection.onAnswer = (frame) => {
        try {
          check(frame);
        } catch (error) {
          reject(error);
        }
        if (++answered === requests) resolve();
        sendNext();
      };
    }
    for (let depth = 0; depth < inFlight; depth++) {
      for (const connection of connections) {
        if (sent < requests) connection.send(request(sent++));
      }
    }
  });
}

export function produceFrame(topic: string, partition: number, records: Buffer): Buffer {
  return requestFrame(PRODUCE, {
    ...{ transactionalId: null, acks: -1, timeoutMs: 30_000 },
    topicData: [{ name: topic, partitionData: [{ index: partition, records }] }],
  });
}

export function checkProduced(frame: Buffer): void {
  const error = answerOf(PRODUCE, frame).responses[0]?.partitionResponses[0]?.errorCode;
  if (error !== 0) throw new Error(`a batch was refused: error ${error}`);
}

/** The same batch so many times. */
export function produce(
  connections: readonly KafkaConnection[],
  frame: Buffer,
  { requests, inFlight }: { readonly requests: number; readonly inFlight: number },
): Promise<void> {
  return requestInTurns(connections, { requests, inFlight, request: () => frame, check: checkProduced });
}

export interface PartitionPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

interface FetchLimits {
  /** At most; the first batch comes whole. */
  readonly bytesMax: number;
  readonly waitMs?: number;
}

export interface Fetched {
  readonly nextOffset: number;
  readonly highWatermark: number;
  readonly sessionId: number;
}

/** One request of one partition, without a session. */
export async function fetchOnce(
  connection: KafkaConnection,
  place: PartitionPlace,
  { bytesMax, waitMs = 0 }: FetchLimits,
): Promise<Fetched> {
  return fetchInSession(connection, [place], { bytesMax, waitMs, sessionId: 0, sessionEpoch: -1 });
}

/** KIP-227: epoch 0 makes a session of all that is named; later ones name what has changed. */
export async function fetchInSession(
  connection: KafkaConnection,
  places: readonly PartitionPlace[],
  {
    bytesMax,
    waitMs = 0,
    sessionId,
    sessionEpoch,
  }: FetchLimits & { readonly sessionId: number; readonly sessionEpoch: number },
): Promise<Fetched> {
  const topic = places[0]?.topic;
  const partitions = places.map(({ partition, offset }) => ({
    partition,
    fetchOffset: offset,
    partitionMaxBytes: bytesMax,
  }));
  const answer = await connection.ask(FETCH, {
    ...{
      maxWaitMs: waitMs,
      minBytes: 1,
      maxBytes: bytesMax,
      sessionId,
      sessionEpoch,
      forgottenTopicsData: [],
    },
    topics: topic === undefined ? [] : [{ topic, partitions }],
  });
  const [first] = answer.responses[0]?.partitions ?? [];
  const error = answer.errorCode !== 0 ? answer.errorCode : (first?.errorCode ?? 0);
  if (error !== 0) throw new Error(`Fetch: error ${error}`);
  return {
    nextOffset: endOf(first?.records ?? Buffer.alloc(0), places[0]?.offset ?? 0),
    highWatermark: first?.highWatermark ?? -1,
    sessionId: answer.sessionId,
  };
}

/** One past the last offset of whole v2 batches. */
function endOf(records: Buffer, offset: number): number {
  let end = offset;
  for (let at = 0; at + 27 <= records.length && at + 12 + records.readInt32BE(at + 8) <= records.length; ) {
    end = Number(records.readBigInt64BE(at)) + records.readInt32BE(at + 23) + 1;
    at += 12 + records.readInt32BE(at + 8);
  }
  return end;
}

/** From `place` up to `untilOffset`. */
export async function fetchUntil(
  connection: KafkaConnection,
  place: PartitionPlace,
  { untilOffset, bytesMax }: { readonly untilOffset: number; readonly bytesMax: number },
): Promise<void> {
  for (let offset = place.offset; offset < untilOffset; ) {
    const { nextOffset } = await fetchOnce(connection, { ...place, offset }, { bytesMax });
    if (nextOffset <= offset) throw new Error(`nothing came at offset ${offset}`);
    offset = nextOffset;
  }
}

export async function endOffset(connection: KafkaConnection, topic: string, partition = 0): Promise<number> {
  return (await fetchOnce(connection, { topic, partition, offset: 0 }, { bytesMax: 1 })).highWatermark;
}
