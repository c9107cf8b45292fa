// A record as a line of JSON. Bytes are shown as they are asked for where they can be, and the answer says as what:
// `utf8` (text), `base64`, or `json` (the value itself, its text untouched); null is null.
import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import type { RecordCursor } from '../../protocols/port.ts';
import { jsonLine } from './json-text.ts';
import { count, milliseconds } from './shapes.ts';

export const byteEncoding = z.enum(['utf8', 'base64', 'json']);
export type ByteEncoding = z.output<typeof byteEncoding>;

export const encodingQueries = {
  keyEncoding: byteEncoding.optional().meta({
    description: 'How keys are shown. Without it as text when they are UTF-8, else in base64.',
  }),
  valueEncoding: byteEncoding.optional().meta({ description: 'The same of values.' }),
};

const shownEncoding = byteEncoding.nullable().meta({ description: 'Null of null.' });
const headerEncoding = z.enum(['utf8', 'base64']).nullable();

export const recordShape = z
  .strictObject({
    topic: z.string(),
    partition: count,
    offset: count,
    timestampMs: milliseconds.meta({ description: '-1 = none.' }),
    timestampType: z.enum(['CreateTime', 'LogAppendTime']),
    key: z.unknown().meta({ description: 'Text, or any JSON when keyEncoding is json.' }),
    keyEncoding: shownEncoding,
    value: z.unknown().meta({ description: 'Text, or any JSON when valueEncoding is json.' }),
    valueEncoding: shownEncoding,
    headers: z.array(
      z.strictObject({ name: z.string(), value: z.string().nullable(), valueEncoding: headerEncoding }),
    ),
    producerId: count.optional(),
    producerEpoch: count.optional(),
    sequence: count.optional(),
    transactional: z.literal(true).optional(),
    mqtt: z
      .strictObject({
        topic: z.string().optional(),
        clientId: z.string().optional(),
        qos: z.int().optional(),
        retain: z.boolean().optional(),
        contentType: z.string().optional(),
        responseTopic: z.string().optional(),
        correlationData: z.string().optional().meta({ description: 'In base64.' }),
        payloadFormat: z.int().optional(),
        expirySeconds: z.int().optional(),
      })
      .optional()
      .meta({ description: 'Of a record that was published by MQTT.' }),
  })
  .meta({
    id: 'Record',
    description:
      'A record. Bytes are shown as text, as base64 or as JSON, and `keyEncoding` and `valueEncoding` say which.',
    examples: [
      {
        topic: 'plant',
        partition: 0,
        offset: 700,
        timestampMs: 1764000000123,
        timestampType: 'CreateTime',
        key: 'plant/7/temp',
        keyEncoding: 'utf8',
        value: '21.5',
        valueEncoding: 'utf8',
        headers: [],
        mqtt: { topic: 'plant/7/temp', clientId: 'boiler-7', qos: 1, retain: false },
      },
    ],
  });

/** Source attributes that are shown: how each is written. */
const MQTT_ATTRIBUTES: Readonly<Record<string, (bytes: Buffer) => string>> = {
  'mqtt.topic': (bytes) => `"topic":${JSON.stringify(bytes.toString())}`,
  'mqtt.client-id': (bytes) => `"clientId":${JSON.stringify(bytes.toString())}`,
  'mqtt.qos': (bytes) => `"qos":${numberText(bytes)}`,
  'mqtt.retain': (bytes) => `"retain":${bytes.toString() === '1'}`,
  'mqtt.content-type': (bytes) => `"contentType":${JSON.stringify(bytes.toString())}`,
  'mqtt.response-topic': (bytes) => `"responseTopic":${JSON.stringify(bytes.toString())}`,
  'mqtt.correlation-data': (bytes) => `"correlationData":"${bytes.toString('base64')}"`,
  'mqtt.payload-format': (bytes) => `"payloadFormat":${numberText(bytes)}`,
  'mqtt.expiry': (bytes) => `"expirySeconds":${numberText(bytes)}`,
};

/** What is longer is always base64: as text it could become six times as long, beyond what a string can hold. */
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

const PLAIN_BYTES_MAX = 512;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export interface ShownAs {
  readonly keyEncoding?: ByteEncoding | undefined;
  readonly valueEncoding?: ByteEncoding | undefined;
}

/** One JSON object without line ends, of the record that the cursor stands on. Headers and attributes are stepped through. */
export function recordJson(
  cursor: RecordCursor,
  topicText: string,
  partition: number,
  { keyEncoding, valueEncoding }: ShownAs,
): string {
  const { bytes } = cursor;
  const timestampType = cursor.batchIsLogAppendTime ? 'LogAppendTime' : 'CreateTime';
  return (
    `{"topic":${topicText},"partition":${partition},"offset":${cursor.offset},` +
    `"timestampMs":${cursor.timestampMs},"timestampType":"${timestampType}",` +
    `${bytesJson('key', bytes, cursor.keyStart, cursor.keyEnd, keyEncoding)},` +
    `${bytesJson('value', bytes, cursor.valueStart, cursor.valueEnd, valueEncoding)},` +
    `"headers":[${headersJson(cursor)}]${producerJson(cursor)}${attributesJson(cursor)}}`
  );
}

function bytesJson(
  name: 'key' | 'value',
  bytes: Buffer,
  start: number,
  end: number,
  asked: ByteEncoding | undefined,
): string {
  if (start < 0) return `"${name}":null,"${name}Encoding":null`;
  if ((asked === undefined || asked === 'utf8') && isPlainText(bytes, start, end))
    return `"${name}":"${bytes.toString('latin1', start, end)}","${name}Encoding":"utf8"`;
  const part = bytes.subarray(start, end);
  if (asked !== 'base64' && part.length <= TEXT_BYTES_MAX && isUtf8(part)) {
    const text = part.toString('utf8');
    const json = asked === 'json' ? jsonLine(text) : undefined;
    if (json !== undefined) return `"${name}":${json},"${name}Encoding":"json"`;
    return `"${name}":${JSON.stringify(text)},"${name}Encoding":"utf8"`;
  }
  return `"${name}":"${part.toString('base64')}","${name}Encoding":"base64"`;
}

/** Short ASCII that JSON writes as it is: most keys and many values, at half the cost of the general way. */
function isPlainText(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > PLAIN_BYTES_MAX) return false;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!; // at is within
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}

function headersJson(cursor: RecordCursor): string {
  if (cursor.headerCount === 0) return '';
  const headers: string[] = [];
  cursor.rewindHeaders();
  while (cursor.nextHeader()) {
    const name = JSON.stringify(cursor.bytes.toString('utf8', cursor.nameStart, cursor.nameEnd));
    headers.push(
      `{"name":${name},${bytesJson('value', cursor.bytes, cursor.itemStart, cursor.itemEnd, undefined)}}`,
    );
  }
  return headers.join(',');
}

function producerJson(cursor: RecordCursor): string {
  const { batchProducerId, batchProducerEpoch, batchBaseSequence } = cursor;
  if (batchProducerId < 0) return '';
  const identity = `,"producerId":${batchProducerId},"producerEpoch":${batchProducerEpoch}`;
  const transactional = cursor.batchIsTransactional ? ',"transactional":true' : '';
  if (batchBaseSequence < 0) return identity + transactional;
  // Sequences begin anew behind the largest int32.
  const sequence = (batchBaseSequence + cursor.offset - cursor.batchBaseOffset) % 2 ** 31;
  return `${identity},"sequence":${sequence}${transactional}`;
}

function attributesJson(cursor: RecordCursor): string {
  if (cursor.attributeCount === 0) return '';
  const shown: string[] = [];
  cursor.rewindAttributes();
  while (cursor.nextAttribute()) {
    const name = cursor.bytes.toString('latin1', cursor.nameStart, cursor.nameEnd);
    const write = Object.hasOwn(MQTT_ATTRIBUTES, name) ? MQTT_ATTRIBUTES[name] : undefined;
    if (write === undefined || cursor.itemStart < 0) continue;
    shown.push(write(cursor.bytes.subarray(cursor.itemStart, cursor.itemEnd)));
  }
  return shown.length === 0 ? '' : `,"mqtt":{${shown.join(',')}}`;
}

function numberText(bytes: Buffer): number {
  const number = Number(bytes.toString('latin1'));
  return Number.isSafeInteger(number) ? number : 0;
}
