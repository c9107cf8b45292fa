// What an API is to a connection: a key, the versions served, and a handler from request to answer. Each file of
// handlers/ makes one; apis.ts lists them; ApiVersions, the README's table and dispatch read that list.

import type { Hub, ListenerView, Operation, Principal, RecordCursor, ResourceKind } from '../port.ts';
import type { EncodedStretches } from './encoded-stretches.ts';
import type { FetchSessions } from './fetch-sessions.ts';
import type { GroupAdministration } from './groups/administration.ts';
import type { GroupCoordinator } from './groups/coordinator.ts';
import type { GroupOffsets } from './groups/offsets.ts';
import type { TransactionalOffsets } from './groups/transactional-offsets.ts';
import type { KafkaCounters, RequestTimings } from './metrics.ts';
import type { BatchEncoder } from './records/batch-encoder.ts';
import type { KafkaSettings } from './settings.ts';
import type { TransactionCoordinator } from './transactions/coordinator.ts';
import { finishRequestHeader, writeResponseFrame } from './wire/headers.ts';
import type { Message } from './wire/message.ts';
import type { WireReader } from './wire/reader.ts';
import type { Fields, StructInput, StructValue } from './wire/schema.ts';
import type { WireWriter } from './wire/writer.ts';

/** What every handler works with: one for the whole front end. */
export interface KafkaContext {
  readonly hub: Hub;
  readonly settings: KafkaSettings;
  readonly groups: GroupCoordinator;
  readonly offsets: GroupOffsets;
  readonly transactionalOffsets: TransactionalOffsets;
  readonly groupAdministration: GroupAdministration;
  readonly transactions: TransactionCoordinator;
  readonly fetchSessions: FetchSessions;
  readonly apis: readonly Api[];
  /** Those of the front end. */
  listeners(): readonly ListenerView[];
  /** Its output lives until the answer is written: no await between. */
  readonly encoder: BatchEncoder;
  readonly stretches: EncodedStretches;
  readonly cursor: RecordCursor;
  readonly counters: KafkaCounters;
  readonly timings: RequestTimings;
}

/** One request's surroundings. */
export interface Call {
  readonly kafka: KafkaContext;
  readonly version: number;
  readonly clientId: string | null;
  readonly principal: Principal;
  /** Where the client reached us: what it is told when the listener advertises nothing. */
  readonly reached: { readonly host: string; readonly port: number };
  /**
   * Called once when waiting makes no sense any more: the client is gone and nobody reads the answer, or the
   * hub is stopping and wants it now. Returns its removal.
   */
  onHurry(listener: (why: 'gone' | 'stopping') => void): () => void;
}

/** For Produce with acks=0 alone. */
export const NO_ANSWER = Symbol('no answer');
/** The connection is closed instead: how a producer that wants no answers learns of an error. */
export const HANG_UP = Symbol('hang up');
export type Silence = typeof NO_ANSWER | typeof HANG_UP;

export type Answer<Response> = Response | Silence;

/** What there is to say of a {@link Later}, if it is anything. */
export interface LaterOptions {
  /** When what may not overlap can start, if that is after the answer. */
  readonly settled?: Promise<unknown> | undefined;
  /** Memory that is taken until then and is not counted elsewhere. */
  readonly heldBytes?: number;
  /** Called when the client has been sent the answer. */
  readonly afterwards?: () => void;
}

/** The request took effect; the answer comes later, and what the client sends next need not wait for it. */
export class Later<Response> {
  /** When the answer can be written. Requests that have the same promise are answered together. */
  readonly ready: Promise<unknown>;
  /** Makes the answer, given what `ready` resolved with, when its turn to be written has come. */
  readonly answer: (result: unknown) => Answer<Response>;
  readonly settled: Promise<unknown>;
  readonly heldBytes: number;
  readonly afterwards: (() => void) | undefined;

  private constructor(
    ready: Promise<unknown>,
    answer: (result: unknown) => Answer<Response>,
    options: LaterOptions,
  ) {
    this.ready = ready;
    this.answer = answer;
    this.settled = options.settled ?? ready;
    this.heldBytes = options.heldBytes ?? 0;
    this.afterwards = options.afterwards;
  }

  /** @param answer called once, so that what is large is made when it is written and never held in line as bytes. */
  static of<Response, Result>(
    ready: Promise<Result>,
    answer: (result: Result) => Answer<Response>,
    options: LaterOptions = {},
  ): Later<Response> {
    // What it is called with is what this very promise resolved with.
    return new Later(ready, answer as (result: unknown) => Answer<Response>, options);
  }
}

export type Outcome<Response> = Answer<Response> | Later<Response>;

/** Writes one response frame, or says why there is none. `result` is what {@link Later.ready} resolved with. */
export type WriteAnswer = (writer: WireWriter, correlationId: number, result: unknown) => Silence | undefined;

export interface WrittenOutcome {
  readonly write: WriteAnswer;
  /** Undefined: the answer can be written at once. */
  readonly later: Later<unknown> | undefined;
}

export interface Api {
  readonly key: number;
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Advertised so that clients accept the hub, and answered with UNSUPPORTED_VERSION. */
  readonly isRefused: boolean;
  /**
   * What may start while a request of this API took effect and is not answered yet (its outcome is Later):
   * 'itself' = only more of the same, everything else waits until it is done (Produce: pipelined requests share
   * a flush, and what comes after sees them); 'others' = everything but more of the same (what parks: Fetch,
   * JoinGroup, SyncGroup).
   */
  readonly overlaps: 'itself' | 'others';
  /** Decodes and handles what follows the header. While a promise is pending nothing else of the connection runs. */
  handle(reader: WireReader, call: Call): WrittenOutcome | Promise<WrittenOutcome>;
  /** Answers a version that is not served; without it the connection is closed. For ApiVersions alone (KIP-35). */
  readonly answerUnserved: ((call: Call) => WrittenOutcome) | undefined;
}

export interface ApiDefinition<Req extends Fields, Res extends Fields> {
  readonly key: number;
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly isRefused?: boolean;
  readonly overlaps?: 'itself' | 'others';
  readonly request: Message<Req>;
  readonly response: Message<Res>;
  handle(
    request: StructValue<Req>,
    call: Call,
  ): Outcome<StructInput<Res>> | Promise<Outcome<StructInput<Res>>>;
  readonly answerUnserved?: (call: Call) => WrittenOutcome;
}

/** Ties a handler to the schemas of its messages; the types end here. */
export function defineApi<Req extends Fields, Res extends Fields>(definition: ApiDefinition<Req, Res>): Api {
  const { key, name, min, max, request, response } = definition;

  function written(given: Outcome<StructInput<Res>>, version: number): WrittenOutcome {
    const later = given instanceof Later ? given : undefined;
    return {
      later,
      write(writer, correlationId, result) {
        const answer = given instanceof Later ? given.answer(result) : given;
        if (isSilence(answer)) return answer;
        writeResponseFrame(writer, correlationId, response, version, answer);
        return undefined;
      },
    };
  }

  return {
    ...{ key, name, min, max },
    isRefused: definition.isRefused ?? false,
    overlaps: definition.overlaps ?? 'others',
    answerUnserved: definition.answerUnserved,
    handle(reader, call) {
      finishRequestHeader(reader, request, call.version);
      const given = definition.handle(request.read(reader, call.version), call);
      return given instanceof Promise
        ? given.then((late) => written(late, call.version))
        : written(given, call.version);
    },
  };
}

function isSilence(answer: unknown): answer is Silence {
  return answer === NO_ANSWER || answer === HANG_UP;
}

export function allows(call: Call, operation: Operation, kind: ResourceKind, name: string): boolean {
  return call.kafka.hub.access.allows(call.principal, operation, kind, name);
}

/** As Kafka shows and records it: Java's text form of an address. */
export function clientHostOf(call: Call): string {
  return `/${call.principal.remoteAddress}`;
}
