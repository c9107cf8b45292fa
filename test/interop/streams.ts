// Kafka Streams counts words: its repartition and changelog topics, its store and its group's offsets are the hub's work.
import { deepEqual, equal, ok } from 'node:assert/strict';
import { join } from 'node:path';
import type { Child } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { readRecords } from './committed-view.ts';
import { startJava } from './java.ts';
import { withOwnHub } from './own-hub.ts';

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

const LINES_A_KILL = 1_500;
const KILLS = 3;

/** As few batches as may be, so that the hub is killed while most lines are still to be counted. */
async function sendLinesAtOnce(port: number, topic: string, from: number, to: number): Promise<void> {
  const raw = await RawKafka.connect(port);
  for (let index = from; index < to; index += 500) {
    const some = Array.from({ length: Math.min(500, to - index) }, (_none, at) => lineOf(index + at));
    const records = some.map((line) => ({ key: null, value: Buffer.from(line), headers: [] }));
    equal((await raw.produce(topic, 0, recordBatch(records))).error, 0);
  }
  raw.close();
}

/** How many records there are, aborted ones and markers among them. */
async function endOf(port: number, topic: string): Promise<number> {
  const raw = await RawKafka.connect(port);
  const { highWatermark } = await raw.fetch(topic, 0, 0);
  raw.close();
  return highWatermark;
}

/** Counts go on being made. */
async function grows(port: number, topic: string, from: number): Promise<void> {
  for (let attempt = 0; (await endOf(port, topic)) <= from; attempt++) {
    ok(attempt < 600, `${topic} stays at ${from}`);
    // A topology says nothing of how far it is.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const streamsExactlyOnce: InteropCase = {
  name: 'Kafka Streams counts words with exactly_once_v2 while the hub and the application are killed with SIGKILL: each count is there once, in order',
  needs: ['java-clients'],
  timeoutMs: 300_000,
  run: () =>
    withOwnHub('[kafka]\ngroup_initial_rebalance_delay = "0s"\n', async (hub) => {
      const [input, output] = [freshTopic('lines'), freshTopic('counts')];
      await ensureTopics(hub, input, output);
      const state = join(hub.directory, 'state');
      const args = [`${hub.kafkaPort}`, input, output, 'exactly_once_v2', state];
      const start = (): Child => startJava('WordCount', args, 290_000);
      let streams = start();
      await streams.waitFor(/state: RUNNING/, 60_000);
      for (let kill = 0; kill < KILLS; kill++) {
        const before = await endOf(hub.kafkaPort, output);
        await sendLinesAtOnce(hub.kafkaPort, input, kill * LINES_A_KILL, (kill + 1) * LINES_A_KILL);
        await grows(hub.kafkaPort, output, before);
        await hub.killAndStart();
        if (kill !== 1) continue;
        streams.kill('SIGKILL');
        await streams.finished;
        streams = start();
      }
      const lines = KILLS * LINES_A_KILL;
      await countedWords(hub.kafkaPort, output, lines);
      streams.kill('SIGTERM');
      await streams.waitFor(/did: closed/);
      const counts = new Map<string, number[]>();
      for (const { key, value } of await readRecords(hub.kafkaPort, output, 'read_committed'))
        counts.set(`${key}`, [...(counts.get(`${key}`) ?? []), Number(value)]);
      checkCounts(counts, lines);
      const made = [...counts.values()].reduce((sum, { length }) => sum + length, 0);
      const all = await readRecords(hub.kafkaPort, output, 'read_uncommitted');
      return `${lines} lines through ${KILLS} kills of the hub and one of the application: ${made} counts committed, ${all.length - made} aborted`;
    }),
};

export const streamsCases: readonly InteropCase[] = [counting];
