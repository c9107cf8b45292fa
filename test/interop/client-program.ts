// Programs over clients of other languages (clients/): each says on its standard output what it did, as
// `did: WORDS`, and each record that its group has read, as `record: JSON`. Here both are checked, and so is what the
// hub holds afterwards, read by a client that shares no code with either.
import { deepEqual, ok } from 'node:assert/strict';
import { RawKafka } from '../helpers/raw-kafka.ts';

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
const RECORDS_A_CODEC = 10;
const PARTITIONS = 4;

interface SaidRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
  /** Of programs that are told which times to give. */
  readonly timestampMs?: number;
}

/** What each program does, whatever its language; it says more about what its client has besides. */
export const COMMON_STEPS = [
  'created topics',
  'described topics',
  ...CODECS.map((codec) => `produced ${codec}`),
  'a second member joined: 2 and 2 partitions',
  'the second member left: 4 partitions',
  'committed offsets',
  'listed offsets by time',
  'deleted a topic',
  'all',
] as const;

/**
 * Throws unless all of `steps` were done, and each record was read once and lies in the topic once. `baseMs` is the
 * time of the first record of each codec, each further one being a millisecond later; times do not count without it.
 */
export async function checkClientProgram(
  port: number,
  topic: string,
  output: string,
  steps: readonly string[],
  baseMs?: number,
): Promise<void> {
  checkSteps(output, steps);
  const timed = baseMs !== undefined;
  const expected = inOrder(expectedRecords(baseMs ?? 0), timed);
  deepEqual(inOrder(saidRecords(output), timed), expected);
  deepEqual(inOrder(await storedRecords(port, topic), timed), expected);
}

export function checkSteps(output: string, steps: readonly string[]): void {
  const done = linesOf(output, 'did: ');
  for (const step of steps) ok(done.includes(step), `not done: ${step}; it said:\n${done.join('\n')}`);
}

/** Each codec's records, the last but one without a key and the last without a value, then one for each partition. */
function expectedRecords(baseMs: number): SaidRecord[] {
  const ofCodecs = CODECS.flatMap((codec) =>
    Array.from({ length: RECORDS_A_CODEC }, (_none, index) => ({
      key: index === RECORDS_A_CODEC - 2 ? null : `${codec}-${index}`,
      value: index === RECORDS_A_CODEC - 1 ? null : `${codec} ${index} `.repeat(20),
      headers: [
        ['codec', codec],
        ['empty', ''],
      ] as const,
      timestampMs: baseMs + index,
    })),
  );
  const more = Array.from({ length: PARTITIONS }, (_none, partition) => ({
    key: `more-${partition}`,
    value: 'more',
    headers: [],
    timestampMs: baseMs + partition,
  }));
  return [...ofCodecs, ...more];
}

function saidRecords(output: string): SaidRecord[] {
  // What the program says is compared with records whole: a wrong shape is a difference there.
  return linesOf(output, 'record: ').map((line) => JSON.parse(line) as SaidRecord);
}

async function storedRecords(port: number, topic: string): Promise<SaidRecord[]> {
  const raw = await RawKafka.connect(port);
  const records: SaidRecord[] = [];
  for (let partition = 0; partition < PARTITIONS; partition++) {
    for (const { key, value, headers, timestampMs } of await raw.fetchAll(topic, partition)) {
      records.push({
        key: key?.toString() ?? null,
        value: value?.toString() ?? null,
        headers: headers.map(([name, text]) => [name, text?.toString() ?? null]),
        timestampMs,
      });
    }
  }
  raw.close();
  return records;
}

/** Partitions have no order among themselves: records compare as a bag. */
function inOrder(records: readonly SaidRecord[], timed: boolean): string[] {
  return records
    .map(({ key, value, headers, timestampMs }) =>
      JSON.stringify({ key, value, headers, ...(timed ? { timestampMs } : {}) }),
    )
    .sort();
}

function linesOf(output: string, start: string): string[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith(start))
    .map((line) => line.slice(start.length).trimEnd());
}
