// `npm run test:interop`: starts the built hub and plays each case against it with programs from elsewhere. What
// cannot run is named with its reason; the last line is `N passed, N failed`, and a run in which nothing passed fails.
import { describeRunning, endOthers, runningChildren } from '../helpers/child.ts';
import { startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';
import { bankTransfer } from './bank.ts';
import type { InteropCase } from './case.ts';
import { connectCases } from './connect.ts';
import { connectSource } from './connect-source.ts';
import { differential } from './differential/differential.ts';
import { goClients } from './go-clients.ts';
import { groupCases } from './groups.ts';
import { imageCases } from './image.ts';
import { javaClients } from './java-clients.ts';
import { kafkaToMqtt } from './kafka-to-mqtt.ts';
import { logFiles } from './log-files.ts';
import { mqttClients } from './mqtt-clients.ts';
import { mqttDifferential } from './mqtt-differential/mqtt-differential.ts';
import { mqttSequences } from './mqtt-sequences/mqtt-sequences.ts';
import { mqttToKafka } from './mqtt-to-kafka.ts';
import { offsets } from './offsets.ts';
import { packageCases } from './package.ts';
import { missingPrograms } from './programs.ts';
import { pythonClients } from './python-clients.ts';
import { readmeTryIt } from './readme.ts';
import { restarts } from './restarts.ts';
import { streamsCases, streamsExactlyOnce } from './streams.ts';
import { supervisionCases } from './supervision.ts';
import { topicTools } from './topic-tools.ts';
import { transactionCases } from './transactions.ts';

/** The README first: its topics are as fresh to it as to whoever tries it. */
const cases: readonly InteropCase[] = [
  readmeTryIt,
  ...kafkaToMqtt,
  ...mqttToKafka,
  ...mqttClients,
  mqttSequences,
  ...mqttDifferential,
  ...offsets,
  ...groupCases,
  ...topicTools,
  ...logFiles,
  ...packageCases,
  ...imageCases,
  ...supervisionCases,
  ...pythonClients,
  ...goClients,
  ...javaClients,
  ...streamsCases,
  ...connectCases,
  ...transactionCases,
  ...restarts,
  streamsExactlyOnce,
  connectSource,
  ...differential,
  bankTransfer,
];

const CASE_MS = 60_000;

/** `npm run test:interop -- TEXT` runs the cases whose names hold it. */
const only = process.argv[2] ?? '';

const directory = temporaryDirectory();
const missing = await missingPrograms();
const hub = await startHubProcess(directory.path, '[kafka]\ngroup_initial_rebalance_delay = "0s"\n');
const notRun: string[] = [];
let passed = 0;
let failed = 0;

for (const each of cases.filter(({ name }) => name.includes(only))) {
  const lacking = each.needs.find((program) => missing.has(program));
  if (lacking !== undefined) {
    notRun.push(`not run: ${each.name} — ${missing.get(lacking)}`);
    continue;
  }
  const startMs = performance.now();
  const { problem, did } = await outcomeOf(each);
  const took = `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;
  if (problem === undefined) passed += 1;
  else failed += 1;
  process.stdout.write(
    problem === undefined ? `ok: ${each.name} (${took})\n${did}` : `FAILED: ${each.name}\n${problem}\n`,
  );
}

const { code } = await hub.stop();
if (code !== 0) {
  failed += 1;
  process.stdout.write(`FAILED: the hub stops cleanly: exit ${code}\n`);
}
directory.remove();
if (passed + failed === 0) {
  failed += 1;
  process.stdout.write('FAILED: nothing could run\n');
}
for (const line of notRun) process.stdout.write(`${line}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
// A failed case may still hold sockets open.
process.exit(failed === 0 ? 0 : 1);

/** Without a problem the case held; what it did is whole lines. */
async function outcomeOf(each: InteropCase): Promise<{ problem?: string; did: string }> {
  const timeoutMs = each.timeoutMs ?? CASE_MS;
  const before = runningChildren();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not done within ${timeoutMs / 1_000} s; still running:\n${describeRunning()}`));
    }, timeoutMs);
  });
  try {
    const did = await Promise.race([each.run(hub), late]);
    return { did: typeof did === 'string' ? `    ${did}\n` : '' };
  } catch (error) {
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    await endOthers(before);
    return { problem, did: '' };
  } finally {
    clearTimeout(timer);
  }
}
