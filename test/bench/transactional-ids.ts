// How much longer the hub takes to start when it knows ten thousand transactional ids than when it knows none: two hubs
// in turns, each stopped and started again; and what the ids take of its memory.
// Run: npm run build && npx tsx test/bench/transactional-ids.ts [ids] [rounds]
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as initProducerId from '../../protocols/kafka/messages/init-producer-id.ts';
import { type HubProcess, startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { judge } from './filled-store.ts';
import { RequestClient } from './request-client.ts';
import { median } from './statistics.ts';

const IDS = Number(process.argv[2] ?? 10_000);
const ROUNDS = Number(process.argv[3] ?? 5);
/** Of one connection one request is served after the other: many share a flush. */
const CONNECTIONS = 100;

async function makeIds({ kafkaPort }: HubProcess): Promise<void> {
  let next = 0;
  const make = async (): Promise<void> => {
    const client = await RequestClient.open(kafkaPort);
    while (next < IDS) {
      const transactionalId = `transactional-id-${next++}`;
      const answer = await client.ask(
        22,
        4,
        [initProducerId.InitProducerIdRequest, initProducerId.InitProducerIdResponse],
        { transactionalId, transactionTimeoutMs: 60_000, producerId: -1, producerEpoch: -1 },
      );
      if (answer.errorCode !== 0) throw new Error(`${transactionalId}: error ${answer.errorCode}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, make));
}

function residentMiB({ pid }: HubProcess): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}

/** User and system time so far, which the system counts in hundredths of a second: what a start costs, also where others keep the machine busy. */
function cpuMs({ pid }: HubProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
}

async function startOnce(directory: string): Promise<Start> {
  const startedMs = performance.now();
  const hub = await startHubProcess(directory);
  const ms = performance.now() - startedMs;
  const start = { ms, cpuMs: cpuMs(hub), mib: residentMiB(hub) };
  await hub.stop();
  return start;
}

const directory = temporaryDirectory();
try {
  const [none, many] = [join(directory.path, 'none'), join(directory.path, 'many')];
  await startOnce(none);
  const hub = await startHubProcess(many);
  await makeIds(hub);
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
