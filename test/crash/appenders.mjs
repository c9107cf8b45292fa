// A process with a store under load, to be killed: eight appenders, a plain log and a compacted one, records deleted and
// maintenance without a pause. Plain JavaScript over dist/, since it starts thirty times. What it says on its output it
// has been told by the store before: `a LOG OFFSET VALUE` for a record that is on disk, `D OFFSET` before records are
// deleted and `d OFFSET` when they are.
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { openLogStore } from '../../dist/storage/index.js';

const [directory = '', round = '0'] = process.argv.slice(2);
const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
const silent = () => undefined;
const log = {
  debug: silent,
  info: silent,
  warn: silent,
  error: (event, fields) => say(`e ${event} ${fields}`),
};
const CONFIG = {
  ...{ segmentBytes: 8192, segmentMs: Infinity, indexBytesMax: 1 << 20, flushMessages: 1, flushMs: 1000 },
  ...{ deletes: false, retentionMs: Infinity, retentionBytes: Infinity, compacts: false },
  ...{
    minCleanableDirtyRatio: 0.2,
    minCompactionLagMs: 0,
    maxCompactionLagMs: Infinity,
    deleteRetentionMs: 1e9,
  },
};

const store = await openLogStore({
  ...{ directory, nodeId: 1, clock, log, random: { uuid: randomUUID }, checkIntervalMs: 0 },
  ...{ checkpointBytes: 20_000, indexIntervalBytes: 500 },
});
const plain = await open('plain', 1, CONFIG);
const compacted = await open('compacted', 2, { ...CONFIG, compacts: true });
say('open');
for (let appender = 0; appender < 8; appender++) void load(appender);
void maintain();
void deleteRecords();

async function open(topic, logId, config) {
  const leaderEpoch = (await store.diskLeaderEpoch(topic, topic, 0)) + 1;
  const opened = await store.openPartition({
    topic,
    topicId: topic,
    partition: 0,
    logId,
    leaderEpoch,
    config,
  });
  opened.onCommitted = (offset) => opened.setHighWatermark(offset);
  return opened;
}

async function load(appender) {
  const target = appender < 5 ? plain : compacted;
  for (let number = 0; ; number++) {
    const values = Array.from(
      { length: 1 + (number % 3) },
      (_, at) => `${round}-${appender}-${number * 3 + at}`,
    );
    const key = Buffer.from(`k${(appender * 7 + number) % 12}`);
    const sent = target.append({}, (writer) => {
      for (const value of values) {
        const bytes = Buffer.from(value.padEnd(40 + ((number * 37) % 300), '.'));
        writer.startRecord(Date.now(), key, 0, key.length, 0);
        writer.endRecord(bytes, 0, bytes.length, null);
      }
    });
    if ((await sent.flushed) !== undefined) return;
    for (const [at, value] of values.entries()) {
      say(`a ${target.topic} ${sent.baseOffset + at} ${value} ${key}`);
    }
  }
}

async function maintain() {
  for (let turns = 1; ; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (turns % 20 === 0) await store.maintain();
  }
}

async function deleteRecords() {
  for (let turns = 1; ; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (turns % 200 !== 0) continue;
    const { logStartOffset, highWatermark } = plain;
    const before = logStartOffset + Math.floor((highWatermark - logStartOffset) / 3);
    say(`D ${before}`);
    await plain.deleteRecords(before);
    say(`d ${before}`);
  }
}

/** Written when it returns; `process.stdout` may keep it for later, and then nobody gets it. */
function say(line) {
  writeSync(1, `${line}\n`);
}
