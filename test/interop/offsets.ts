// Offsets by time: the admin endpoint, Apache's get-offsets and kcat agree with each other and with the truth.
import { deepEqual } from 'node:assert/strict';
import { run } from '../helpers/child.ts';
import type { HubProcess } from '../helpers/hub-process.ts';
import { RawKafka, recordBatch } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { getOffset } from './kafka-tools.ts';

const hourMs = 3_600_000;

/**
 * Six records in three batches, with times that go back and forth: offset 4 has the largest, and the first record
 * at or after a time is not always where the times are sorted.
 */
function recordTimes(nowMs: number): number[][] {
  const base = Math.floor(nowMs / 1_000) * 1_000;
  return [
    [base - 5 * hourMs, base - 4 * hourMs],
    [base - 3 * hourMs, base - 2 * hourMs, base - hourMs / 2],
    [base - 2 * hourMs - 1],
  ];
}

async function topicWithTimes(kafkaPort: number, batches: readonly (readonly number[])[]): Promise<string> {
  const topic = freshTopic('times');
  const raw = await RawKafka.connect(kafkaPort);
  await raw.ensureTopic(topic);
  for (const timestampsMs of batches) {
    const records = timestampsMs.map((timeMs) => ({
      key: null,
      value: Buffer.from(`${timeMs}`),
      headers: [],
    }));
    const { error } = await raw.produce(topic, 0, recordBatch(records, { timestampsMs }));
    deepEqual(error, 0);
  }
  raw.close();
  return topic;
}

interface OffsetsAnswer {
  readonly partitions: readonly {
    readonly at: readonly { readonly offset: number; readonly reason: string }[];
  }[];
}

async function adminOffset(hub: HubProcess, topic: string, at: string): Promise<number> {
  const url = `${hub.adminUrl}/api/v1/topics/${topic}/offsets?at=${encodeURIComponent(at)}`;
  const answer = JSON.parse(
    (await run('curl', ['-sS', '--fail-with-body', url])).toString(),
  ) as OffsetsAnswer;
  const found = answer.partitions[0]?.at[0];
  if (found === undefined) throw new Error(`no answer in ${JSON.stringify(answer)}`);
  return found.offset;
}

const atTimes: InteropCase = {
  name: "earliest, latest, max-timestamp, times inside batches, relative and RFC 3339: curl and Apache's get-offsets agree",
  needs: ['kafka-tools', 'curl'],
  async run(hub) {
    const nowMs = Date.now();
    const batches = recordTimes(nowMs);
    const topic = await topicWithTimes(hub.kafkaPort, batches);
    const times = batches.flat();
    const end = times.length;
    const firstAtOrAfter = (timeMs: number): number => {
      const index = times.findIndex((recordTimeMs) => recordTimeMs >= timeMs);
      return index < 0 ? end : index;
    };
    const fixed = { earliest: 0, latest: end, 'max-timestamp': times.indexOf(Math.max(...times)) };
    const exact = [times[0], times[1], (times[1] ?? 0) + 1, times[3], (times[3] ?? 0) + 1, nowMs - hourMs];
    const expected = new Map<string, number>(Object.entries(fixed));
    for (const timeMs of exact) expected.set(`${timeMs}`, firstAtOrAfter(timeMs ?? 0));
    for (const [query, offset] of expected) {
      deepEqual({ query, admin: await adminOffset(hub, topic, query) }, { query, admin: offset });
      deepEqual({ query, kafka: await getOffset(hub.kafkaPort, topic, query) }, { query, kafka: offset });
    }
    // Nothing at or after it: Apache's tool prints no offset, the admin endpoint the log end.
    deepEqual(await getOffset(hub.kafkaPort, topic, `${nowMs + hourMs}`), undefined);
    deepEqual(await adminOffset(hub, topic, `${nowMs + hourMs}`), end);
    for (const hours of [1, 3, 6]) {
      const timeMs = nowMs - hours * hourMs + 60_000;
      const offset = await getOffset(hub.kafkaPort, topic, `${timeMs}`);
      deepEqual(await adminOffset(hub, topic, new Date(timeMs).toISOString()), offset);
      // A minute of leeway keeps the clock from passing a record's time between two questions.
      deepEqual(await adminOffset(hub, topic, `-${hours * 60 - 1}m`), offset);
    }
  },
};

const withKcat: InteropCase = {
  name: 'kcat finds the same offsets by time',
  needs: ['kcat'],
  async run({ kafkaPort }) {
    const batches = recordTimes(Date.now());
    const topic = await topicWithTimes(kafkaPort, batches);
    const times = batches.flat();
    for (const index of [0, 1, 2, 3, 4]) {
      const query = `${topic}:0:${times[index]}`;
      const output = (await run('kcat', ['-b', `127.0.0.1:${kafkaPort}`, '-Q', '-t', query])).toString();
      deepEqual(output.trim(), `${topic} [0] offset ${index}`);
    }
  },
};

export const offsets: readonly InteropCase[] = [atTimes, withKcat];
