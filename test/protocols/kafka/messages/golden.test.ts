// Every message against bytes of Kafka's own encoder, four ways: decoded, encoded, round-tripped, and cut
// short at every byte. The vectors hold every version and three fills (test/golden/kafka/README.md).

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WireError } from '../../../../protocols/kafka/wire/errors.ts';
import type { Message } from '../../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../../protocols/kafka/wire/reader.ts';
import type { Fields } from '../../../../protocols/kafka/wire/schema.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';
import { ALL_MESSAGES } from './all-messages.ts';

interface Vector {
  readonly message: string;
  readonly version: number;
  readonly fill: 'full' | 'null' | 'min';
  readonly flexible: boolean;
  readonly json: Record<string, unknown>;
  readonly hex: string;
}

const GOLDEN = new URL('../../../golden/kafka/', import.meta.url);

// A quarter of a million errors are made here, and nobody reads where each came from.
Error.stackTraceLimit = 0;

const vectorsByMessage = new Map<string, Vector[]>();
for (const file of readdirSync(GOLDEN).filter((name) => /^\d\d-.*\.jsonl$/.test(name))) {
  for (const line of readFileSync(new URL(file, GOLDEN), 'utf8').trim().split('\n')) {
    const vector: Vector = JSON.parse(line);
    const known = vectorsByMessage.get(vector.message);
    if (known === undefined) vectorsByMessage.set(vector.message, [vector]);
    else known.push(vector);
  }
}

it('finds vectors for every message and a message for every vector', () => {
  expect([...vectorsByMessage.keys()].sort()).toEqual(Object.keys(ALL_MESSAGES).sort());
});

describe.each(Object.entries(ALL_MESSAGES))('%s', (name, typed) => {
  // The loop treats all schemas alike; their precise types matter to handlers, not here.
  const message = typed as unknown as Message<Fields>;
  const vectors = vectorsByMessage.get(name) ?? [];

  it('has vectors of each of its versions, and the same flexible ones', () => {
    const versions = [...new Set(vectors.map((vector) => vector.version))].sort((a, b) => a - b);
    const { versionMin, versionMax } = message;
    expect(versions).toEqual(Array.from({ length: versionMax - versionMin + 1 }, (_, i) => versionMin + i));
    for (const { version, flexible } of vectors) expect(message.isFlexible(version)).toBe(flexible);
  });

  it('decodes to the fields that Kafka wrote, and to nothing else', () => {
    for (const vector of vectors) {
      const reader = new WireReader(Buffer.from(vector.hex, 'hex'));
      const value = message.read(reader, vector.version);
      expect(toKafkaJson(value), title(vector)).toMatchObject(vector.json);
      expect(reader.remaining, title(vector)).toBe(0);
    }
  });

  it('encodes to the bytes that Kafka wrote', () => {
    const writer = new WireWriter();
    for (const vector of vectors) {
      message.write(writer, vector.version, fieldsOfVersion(decode(message, vector), vector.json));
      expect(writer.take().toString('hex'), title(vector)).toBe(vector.hex);
    }
  });

  it('leaves fields that a version lacks at their defaults, which it then accepts', () => {
    const writer = new WireWriter();
    for (const vector of vectors) {
      message.write(writer, vector.version, decode(message, vector));
      expect(writer.take().toString('hex'), title(vector)).toBe(vector.hex);
    }
  });

  it('answers every truncation with a typed error', () => {
    for (const vector of vectors) {
      const bytes = Buffer.from(vector.hex, 'hex');
      const faults = new Set<string | undefined>();
      for (let length = 0; length < bytes.length; length++) {
        const reader = new WireReader(bytes.subarray(0, length));
        faults.add(faultOf(() => message.read(reader, vector.version)));
      }
      expect([...faults], title(vector)).toEqual(bytes.length === 0 ? [] : ['malformed']);
    }
  });

  it('answers flipped bits with a value or a typed error', () => {
    for (const vector of vectors.filter((candidate) => candidate.fill === 'full')) {
      const bytes = Buffer.from(vector.hex, 'hex');
      for (let bit = 0; bit < bytes.length * 8; bit += 3) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        faultOf(() => message.read(new WireReader(bytes), vector.version));
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    }
  });
});

function title(vector: Vector): string {
  return `${vector.message} v${vector.version} ${vector.fill}`;
}

function decode(message: Message<Fields>, vector: Vector): Record<string, unknown> {
  return message.read(new WireReader(Buffer.from(vector.hex, 'hex')), vector.version);
}

/** The code of the WireError that `read` throws, undefined when it does not throw; anything else is rethrown. */
function faultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Kafka's JSON form: bytes as base64, uuids as unpadded base64url. */
function toKafkaJson(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (typeof value === 'string' && UUID.test(value)) {
    return Buffer.from(value.replaceAll('-', ''), 'hex').toString('base64url');
  }
  if (Array.isArray(value)) return value.map(toKafkaJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toKafkaJson(item)]));
}

/** `value` with only the fields that `json` names: those of the version. */
function fieldsOfVersion(
  value: Record<string, unknown>,
  json: Record<string, unknown>,
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, shape] of Object.entries(json)) kept[key] = pick(value[key], shape);
  return kept;
}

function pick(value: unknown, shape: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(shape))
    return value.map((item, index) => pick(item, shape[index]));
  if (isRecord(value) && isRecord(shape)) return fieldsOfVersion(value, shape);
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
