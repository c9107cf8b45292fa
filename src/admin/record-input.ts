// Records as somebody sends them in JSON, one or a line each. All of a body is read and checked before anything of it is
// appended. A key or value that is JSON is stored as the text it was sent in.
import { isUtf8 } from 'node:buffer';
import * as z from 'zod';
import { bytesOf } from './byte-text.ts';
import { AdminError } from './errors.ts';
import { jsonLine, memberTexts } from './json-text.ts';
import { type ByteEncoding, byteEncoding } from './record-json.ts';

/** Beyond it the records of a body would take many times the memory of the body. */
const RECORDS_MAX = 20_000;
/** Read before others get their turn: some milliseconds. */
const RECORDS_PER_TURN = 500;
const HEADERS_MAX = 1000;

const ignored = z.unknown().optional().meta({ description: 'Ignored: as a record is shown.' });

/** What a record that was read has more: it can be sent again as it is. */
const AS_SHOWN = {
  ...{ topic: ignored, offset: ignored, timestampType: ignored, producerId: ignored, producerEpoch: ignored },
  ...{ sequence: ignored, transactional: ignored, mqtt: ignored },
};

export const recordInputShape = z
  .strictObject({
    key: z.unknown().optional().meta({ description: 'Absent or null = none. Text, or any JSON.' }),
    keyEncoding: byteEncoding
      .nullable()
      .optional()
      .meta({ description: 'Of a string utf8 if absent, of anything else json: its text as it is sent.' }),
    value: z.unknown().optional(),
    valueEncoding: byteEncoding.nullable().optional(),
    headers: z
      .array(
        z.strictObject({
          name: z.string(),
          value: z.string().nullable().optional(),
          valueEncoding: z.enum(['utf8', 'base64']).nullable().optional(),
        }),
      )
      .max(HEADERS_MAX)
      .optional(),
    partition: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "Absent: that of the key, as Kafka's clients choose it; without a key any." }),
    timestampMs: z.int().min(-1).optional().meta({ description: "The hub's time if absent, or -1." }),
    ...AS_SHOWN,
  })
  .meta({
    id: 'NewRecord',
    description: 'A record to append.',
    examples: [
      { key: 'plant/7/temp', value: '21.5' },
      { value: { temp: 21.5 }, headers: [{ name: 'unit', value: 'C' }], partition: 0 },
    ],
  });

export interface HeaderInput {
  /** Name and value in one. */
  readonly bytes: Buffer;
  readonly nameEnd: number;
  readonly isNull: boolean;
}

export interface RecordInput {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly HeaderInput[];
  readonly partition: number | undefined;
  readonly timestampMs: number | undefined;
}

/** @param isLines one record a line, else one in all. Rejects with an AdminError that names the record and its field */
export async function readRecords(body: Buffer, isLines: boolean): Promise<RecordInput[]> {
  if (!isUtf8(body)) throw new AdminError('invalid_request', 'the body is not UTF-8', { field: 'body' });
  const text = body.toString('utf8');
  if (!isLines) return [readRecord(text, '')];
  const records: RecordInput[] = [];
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start);
    const end = lineEnd < 0 ? text.length : lineEnd;
    const line = text.slice(start, end);
    start = end + 1;
    if (line.trim() === '') continue;
    if (records.length === RECORDS_MAX) {
      throw new AdminError('payload_too_large', `a body has at most ${RECORDS_MAX} records`, {
        field: 'body',
        hint: 'send several',
      });
    }
    records.push(readRecord(line, `records.${records.length}`));
    if (records.length % RECORDS_PER_TURN === 0) await nextTurn();
  }
  if (records.length === 0) throw new AdminError('invalid_request', 'there is no record', { field: 'body' });
  return records;
}

/** @param at for messages: which record it is; '' = the only one */
function readRecord(text: string, at: string): RecordInput {
  const input = checkedInput(text, at);
  const isRaw = [input.key, input.value].some((each) => each !== undefined && each !== null);
  const texts = isRaw ? memberTexts(text) : new Map<string, string>();
  return {
    key: bytesOfInput(input.key, input.keyEncoding, texts.get('key'), fieldOf(at, 'key')),
    value: bytesOfInput(input.value, input.valueEncoding, texts.get('value'), fieldOf(at, 'value')),
    headers: (input.headers ?? []).map((header, index) => headerOf(header, fieldOf(at, `headers.${index}`))),
    partition: input.partition,
    timestampMs: input.timestampMs === -1 ? undefined : input.timestampMs,
  };
}

function checkedInput(text: string, at: string): z.output<typeof recordInputShape> {
  const checked = recordInputShape.safeParse(parsed(text, at));
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const path = issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path.join('.');
  const field = fieldOf(at, path ?? '');
  throw new AdminError('invalid_request', `${field}: ${issue?.message ?? 'is not valid'}`, { field });
}

function parsed(text: string, at: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const field = fieldOf(at, '');
    const reason = error instanceof Error ? error.message : String(error);
    throw new AdminError('invalid_request', `${field}: is not JSON: ${reason}`, { field });
  }
}

function bytesOfInput(
  value: unknown,
  encoding: ByteEncoding | null | undefined,
  text: string | undefined,
  field: string,
): Buffer | null {
  if (value === undefined || value === null) return null;
  if (encoding === 'json' || ((encoding ?? undefined) === undefined && typeof value !== 'string')) {
    // It was parsed with the record: what is left to do is to keep it on one line.
    return Buffer.from(jsonLine(text ?? 'null') ?? 'null');
  }
  if (typeof value !== 'string') {
    throw new AdminError('invalid_request', `${field}: ${encoding} is of a string`, {
      field,
      hint: 'leave the encoding out, or say json, to store the JSON itself',
    });
  }
  return bytesOf(value, encoding ?? 'utf8', field);
}

function headerOf(
  { name, value = null, valueEncoding }: NonNullable<z.output<typeof recordInputShape>['headers']>[number],
  field: string,
): HeaderInput {
  const nameBytes = bytesOf(name, 'utf8', `${field}.name`);
  const valueBytes = value === null ? EMPTY : bytesOf(value, valueEncoding ?? 'utf8', `${field}.value`);
  const bytes = Buffer.concat([nameBytes, valueBytes]);
  return { bytes, nameEnd: nameBytes.length, isNull: value === null };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function fieldOf(at: string, name: string): string {
  if (at === '') return name === '' ? 'body' : name;
  return name === '' ? at : `${at}.${name}`;
}

const EMPTY = Buffer.alloc(0);
