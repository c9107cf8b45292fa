// The same scenarios to mosquitto, to aedes and to a hub, what each client was given compared. A difference that no
// exception allows fails, and so does an exception that allows nothing any more.
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { Aedes } from 'aedes';
import { Child } from '../../helpers/child.ts';
import { temporaryDirectory } from '../../helpers/hub-process.ts';
import type { InteropCase } from '../case.ts';
import { freePort, withOwnHub } from '../own-hub.ts';
import { type Difference, differences } from './comparison.ts';
import { AEDES, allows, type Exception, MOSQUITTO } from './exceptions.ts';
import { play } from './play.ts';
import type { Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/** Scenarios do not meet, so several are played at a time. */
const AT_A_TIME = 12;
/** On a machine with much other work it takes minutes. */
const RUN_MS = 600_000;

export const mqttDifferential: readonly InteropCase[] = [
  {
    name: 'scenarios of several MQTT clients end as with mosquitto, in 3.1.1 and 5',
    needs: ['mosquitto'],
    timeoutMs: RUN_MS,
    run: () => withMosquitto((port) => compareAll(scenarios, port, MOSQUITTO)),
  },
  {
    name: 'scenarios of several MQTT clients end as with aedes, in 3.1.1',
    needs: [],
    timeoutMs: RUN_MS,
    run: () =>
      withAedes((port) =>
        compareAll(
          scenarios.filter(({ version }) => version === 4),
          port,
          AEDES,
        ),
      ),
  },
];

async function compareAll(
  all: readonly Scenario[],
  peerPort: number,
  exceptions: readonly Exception[],
): Promise<string> {
  return await withOwnHub('', async (hub) => {
    const found: Difference[] = [];
    const queue = [...all.entries()];
    let packetCount = 0;
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [index, scenario] = next;
        // All in one topic of the hub's: hundreds would take longer to make and to close than all else.
        const prefix = `scenario/${index}`;
        const title = `${scenario.version} ${scenario.name}`;
        const peer = await play(scenario, { port: peerPort, prefix });
        const bringsLess = exceptions.some(
          (each) => each.hubBringsLess === true && each.scenario.test(title),
        );
        const ours = await play(scenario, { port: hub.mqttPort, prefix, learned: peer, bringsLess });
        found.push(...differences(scenario, peer, ours));
        packetCount += [...(peer.counts.at(-1)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    return judge(all.length, packetCount, found, exceptions);
  });
}

function judge(
  scenarioCount: number,
  packetCount: number,
  found: readonly Difference[],
  exceptions: readonly Exception[],
): string {
  const unlisted = found.filter((each) => !exceptions.some((exception) => allows(exception, each)));
  const needless = exceptions.filter((exception) => !found.some((each) => allows(exception, each)));
  const problems = [
    ...unlisted.map(
      ({ scenario, place, peer, hub }) => `${scenario}: ${place}:\n  peer ${peer}\n  hub  ${hub}`,
    ),
    ...needless.map(({ reason }) => `allows nothing: ${reason}`),
  ];
  if (problems.length > 0) throw new Error(`${scenarioCount} scenarios compared\n${problems.join('\n')}`);
  const different = new Set(found.map(({ scenario }) => scenario)).size;
  return (
    `${scenarioCount} scenarios, ${packetCount} packets and ends compared; ` +
    `${different} scenarios differ by ${exceptions.length} exceptions`
  );
}

async function withMosquitto<Result>(use: (port: number) => Promise<Result>): Promise<Result> {
  const directory = temporaryDirectory();
  const port = await freePort();
  const config = join(directory.path, 'mosquitto.conf');
  const settings = ['allow_anonymous true', 'persistence false', 'sys_interval 0', 'set_tcp_nodelay true'];
  writeFileSync(config, `listener ${port} 127.0.0.1\n${settings.join('\n')}\n`);
  const broker = new Child('mosquitto', ['-c', config], { timeoutMs: RUN_MS });
  try {
    await broker.waitFor(/running/);
    return await use(port);
  } finally {
    broker.kill('SIGTERM');
    await broker.finished;
    directory.remove();
  }
}

async function withAedes<Result>(use: (port: number) => Promise<Result>): Promise<Result> {
  const broker = await Aedes.createBroker();
  const server = createServer(broker.handle);
  const port = await listening(server);
  try {
    return await use(port);
  } finally {
    server.close();
    await new Promise<void>((resolve) => broker.close(resolve));
  }
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('no TCP address'));
      else resolve(address.port);
    });
  });
}
