// A record that is like the one before is read the short way: it must say what it says when it is read by itself.
import { fc, test } from '@fast-check/vitest';
import { describe, expect } from 'vitest';
import { newCounters } from '../../../protocols/mqtt/counters.ts';
import { Matches } from '../../../protocols/mqtt/deliveries.ts';
import type { LogSource } from '../../../protocols/mqtt/log-source.ts';
import { NO_MAPPINGS } from '../../../protocols/mqtt/mapping/mappings.ts';
import { encodeAttributes } from '../../../protocols/mqtt/record-mapping.ts';
import { RecordReader } from '../../../protocols/mqtt/record-reader.ts';
import { RecordTopics } from '../../../protocols/mqtt/record-topic.ts';
import type { Session, SessionSubscription } from '../../../protocols/mqtt/session.ts';
import { SubscriptionTree } from '../../../protocols/mqtt/subscription-tree.ts';
import type { RecordRange } from '../../../protocols/port.ts';
import { SYSTEM_CLOCK } from '../../../src/hub/clock.ts';
import { BatchCursor } from '../../../storage/batch-cursor.ts';
import { NO_OPTIONS } from '../../../storage/batch-frame.ts';
import { BatchWriter } from '../../../storage/batch-writer.ts';
import { Chunk } from '../../../storage/tail-cache.ts';

const attributes = (topic: string, clientId: string, qos: 0 | 1 | 2, retain = false, packetId = 0) =>
  encodeAttributes({ topic: Buffer.from(topic), clientId: Buffer.from(clientId), qos, retain, packetId });

/** A foreign record, one with an expiry of 60 s among its attributes, and such as only differ in a byte. */
const SHAPES = [
  { attributes: null, header: undefined },
  { attributes: null, header: ['mqtt.topic', 'a/c'] },
  { attributes: attributes('a/b', 'one', 0), header: undefined },
  { attributes: attributes('a/b', 'two', 0), header: undefined },
  { attributes: attributes('a/b', 'one', 1), header: undefined },
  { attributes: attributes('a/c', 'one', 1, true), header: undefined },
  { attributes: attributes('a/c', 'one', 2, false, 7), header: undefined },
  { attributes: attributes('a/b', 'one', 0), header: ['own', 'property'] },
  { attributes: Buffer.from('\x92\xabmqtt.expiry\xc4\x0260', 'latin1'), header: undefined },
] as const;

const source = { name: NO_MAPPINGS.nameOf('t'), partition: {} } as LogSource; // a reader looks at no more
const EMPTY = Buffer.alloc(0);

function rangeOf(shapes: readonly number[]): RecordRange {
  const chunk = new Chunk(Buffer.alloc(64 * 1024), { forget: () => {} });
  const writer = new BatchWriter(chunk, () => expect.fail('it is large enough'));
  writer.begin(chunk, 0, 1, NO_OPTIONS);
  for (const [offset, index] of shapes.entries()) {
    const { attributes: encoded, header } = SHAPES[index]!; // below their number
    writer.startRecord(SYSTEM_CLOCK.now(), EMPTY, -1, -1, header === undefined ? 0 : 1);
    const [name, text] = header ?? ['', ''];
    const both = Buffer.from(name + text);
    if (header !== undefined) writer.header(both, 0, name.length, name.length, both.length);
    const value = Buffer.from(`payload ${offset}`);
    writer.endRecord(value, 0, value.length, encoded);
  }
  writer.finish();
  return { bytes: chunk.bytes, start: 0, end: writer.byteLength, nextOffset: shapes.length };
}

function newReader(): RecordReader {
  const topics = new RecordTopics<Session>(new Matches(new SubscriptionTree<SessionSubscription>()), 128);
  return new RecordReader({
    cursor: new BatchCursor(),
    clock: SYSTEM_CLOCK,
    topics,
    counters: newCounters(),
  });
}

/** @param isRead nobody may be subscribed to it */
function see(reader: RecordReader, isRead: boolean): unknown {
  const match = reader.match(source);
  if (!isRead) return match.topic;
  reader.read(match);
  const { payload, payloadStart, payloadEnd, qos, retain, clientId, expirySeconds } = reader.message;
  const text = payload.toString('utf8', payloadStart, payloadEnd);
  return [
    match.topic,
    text,
    qos,
    retain,
    clientId?.toString(),
    expirySeconds,
    reader.message.topic.toString(),
  ];
}

describe('a reader of records', () => {
  const record = fc.record({ shape: fc.nat(SHAPES.length - 1), isRead: fc.boolean() });

  test.prop([fc.array(record, { minLength: 1, maxLength: 40 })])(
    'sees each as if it stood alone, whatever came before',
    (records) => {
      const range = rangeOf(records.map(({ shape }) => shape));
      const reader = newReader();
      reader.open(range);
      for (const [offset, { isRead }] of records.entries()) {
        const alone = newReader();
        alone.open(range);
        expect(alone.next(offset) && reader.next(0)).toBe(true);
        expect(see(reader, isRead)).toEqual(see(alone, isRead));
      }
    },
  );
});
