// A process that opens the store in the directory given and holds it until it is killed. Says `open` once it has, or
// the code of the error. Plain JavaScript over dist/, which starts ten times as fast as what is compiled on the way.
import { randomUUID } from 'node:crypto';
import { openLogStore } from '../../dist/storage/index.js';

const [directory = ''] = process.argv.slice(2);
const silent = () => undefined;
const CONFIG = {
  ...{ segmentBytes: 1 << 20, segmentMs: Infinity, indexBytesMax: 1 << 20, flushMessages: 1, flushMs: 1000 },
  ...{ deletes: false, retentionMs: Infinity, retentionBytes: Infinity, compacts: false },
  ...{ minCleanableDirtyRatio: 0.5, minCompactionLagMs: 0, maxCompactionLagMs: Infinity },
  deleteRetentionMs: 1e9,
};

try {
  const store = await openLogStore({
    ...{ directory, nodeId: 1, random: { uuid: randomUUID } },
    clock: { now: () => 0, monotonic: () => 0, setTimer: () => ({ cancel: silent }) },
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  const log = await store.openPartition({
    ...{ topic: 'events', topicId: 'incarnation-1', partition: 0, logId: 1, leaderEpoch: 1, config: CONFIG },
  });
  const value = Buffer.from('held');
  const held = log.append({}, (writer) => {
    writer.startRecord(1000, value, -1, -1, 0);
    writer.endRecord(value, 0, value.length, null);
  });
  await held.flushed;
  process.stdout.write('open\n');
  process.stdin.resume();
} catch (error) {
  process.stdout.write(`${error.code}\n`);
}
