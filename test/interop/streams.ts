// Kafka Streams counts words: its repartition and changelog topics, its store and its group's offsets are the hub's work.
import { deepEqual, equal } from 'node:assert/strict';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { startJava } from './java.ts';

const LINES = 300;
const WORDS = ['log', 'topic', 'record', 'offset', 'segment', 'batch', 'hub'];

/** Line i says the first i modulo 7 plus one words. */
const lineOf = (index: number): string => WORDS.slice(0, (index % WORDS.length) + 1).join(' ');

function expectedCounts(lines: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let index = 0; index < lines; index++)
    for (const word of lineOf(index).split(' ')) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

async function sendLines(port: number, topic: string, from: number, to: number): Promise<void> {
  const raw = await RawKafka.connect(port);
  for (let index = from; index < to; index++) {
    const record = { key: null, value: Buffer.from(lineOf(index)), headers: [] };
    equal((await raw.produce(topic, 0, recordBatch([record]))).error, 0);
  }
  raw.close();
}

/** Each count of each word, in the order in which it was made. */
async function countsIn(port: number, topic: string): Promise<Map<string, number[]>> {
  const raw = await RawKafka.connect(port);
  const counts = new Map<string, number[]>();
  for (const { key, value } of await raw.fetchAll(topic, 0)) {
    const word = `${key}`;
    counts.set(word, [...(counts.get(word) ?? []), Number(`${value}`)]);
  }
  raw.close();
  return counts;
}

/** Resolves when the last count of each word is what it should be. */
async function countedWords(port: number, topic: string, lines: number): Promise<Map<string, number[]>> {
  const expected = expectedCounts(lines);
  for (let attempt = 0; ; attempt++) {
    const counts = await countsIn(port, topic);
    const done = [...expected].every(([word, count]) => (counts.get(word)?.at(-1) ?? 0) >= count);
    if (done) return counts;
    const found = [...counts].map(([word, made]) => `${word} ${made.at(-1)}`).join(', ');
    if (attempt === 600) throw new Error(`the counts stay at: ${found}`);
    // A topology says nothing of how far it is.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function ensureTopics(hub: { kafkaPort: number }, ...topics: string[]): Promise<void> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  for (const topic of topics) await raw.ensureTopic(topic);
  raw.close();
}

const counting: InteropCase = {
  name: 'Kafka Streams counts words at least once, stops, and goes on where it was: every count is right',
  needs: ['java-clients'],
  timeoutMs: 120_000,
  async run({ kafkaPort }) {
    const [input, output] = [freshTopic('lines'), freshTopic('counts')];
    await ensureTopics({ kafkaPort }, input, output);
    const state = temporaryDirectory();
    const args = [`${kafkaPort}`, input, output, 'at_least_once', state.path];
    try {
      for (const [from, to] of [
        [0, LINES],
        [LINES, 2 * LINES],
      ] as const) {
        const streams = startJava('WordCount', args, 100_000);
        await streams.waitFor(/state: RUNNING/, 60_000);
        await sendLines(kafkaPort, input, from, to);
        const counts = await countedWords(kafkaPort, output, to);
        streams.kill('SIGTERM');
        await streams.waitFor(/did: closed/);
        checkCounts(counts, to);
      }
    } finally {
      state.remove();
    }
    return `${2 * LINES} lines, ${[...expectedCounts(2 * LINES)].map((each) => each.join(' ')).join(', ')}`;
  },
};

/** Nothing failed meanwhile: each word was counted one by one. */
function checkCounts(counts: ReadonlyMap<string, readonly number[]>, lines: number): void {
  for (const [word, count] of expectedCounts(lines))
    deepEqual(
      counts.get(word),
      Array.from({ length: count }, (_none, index) => index + 1),
      word,
    );
}

export const streamsCases: readonly InteropCase[] = [counting];
