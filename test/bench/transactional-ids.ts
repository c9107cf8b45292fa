// How much longer the hub takes to start when it knows ten thousand transactional ids than when it knows none: two hubs
// in turns, each stopped and started again; and what the ids take of its memory.
// Run: npm run build && npx tsx test/bench/transactional-ids.ts [ids] [rounds]
import { join } from 'node:path';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { judge } from './filled-store.ts';
import { makeTransactionalIds, type Start, startOnce } from './hub-starts.ts';
import { median } from './statistics.ts';

const IDS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 5);

const directory = temporaryDirectory();
try {
  const [none, many] = [join(directory.path, 'none'), join(directory.path, 'many')];
  await startOnce(none);
  const hub = await startHubProcess(many);
  await makeTransactionalIds(hub, IDS);
  await hub.stop();
  const starts = { none: [] as Start[], many: [] as Start[] };
  for (let round = 0; round < ROUNDS; round++) {
    starts.none.push(await startOnce(none));
    starts.many.push(await startOnce(many));
  }
  const of = (which: readonly Start[], what: keyof Start): number =>
    median(which.map((start) => start[what]));
  const moreMs = of(starts.many, 'ms') - of(starts.none, 'ms');
  const moreCpuMs = of(starts.many, 'cpuMs') - of(starts.none, 'cpuMs');
  const moreMib = of(starts.many, 'mib') - of(starts.none, 'mib');
  judge(
    `start with ${IDS.toLocaleString('en')} transactional ids known`,
    `${of(starts.many, 'ms').toFixed(0)} ms, with none ${of(starts.none, 'ms').toFixed(0)} ms: ${moreMs.toFixed(0)} ms, ${moreCpuMs.toFixed(0)} ms of CPU and ${moreMib.toFixed(0)} MiB more`,
    'less than a second more',
    moreMs < 1_000,
  );
} finally {
  directory.remove();
}
