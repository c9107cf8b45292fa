// What this machine has against a configuration: taken ports, a data directory in use, a full disk, names.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkMachine } from '../../../src/config/machine.ts';
import { lockHolder, portsOf } from '../../../src/config/processes.ts';
import { formatIssue } from '../../../src/config/sources.ts';
import { SYSTEM_CLOCK, SYSTEM_RANDOM } from '../../../src/hub/clock.ts';
import { openLogStore } from '../../../storage/index.ts';
import { TestLog } from '../hub/test-log.ts';
import { LISTENER, sound } from './fixtures.ts';

function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-machine-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** A port of 127.0.0.1 on which this process listens. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it has no address');
  return address.port;
}

async function complaints(directory: string, text: string): Promise<string[]> {
  const config = sound(`[server]\ndata_dir = "${directory}"\n${text}`);
  return (await checkMachine(config)).map(formatIssue);
}

const listener = (bind: string, more = '') => `${LISTENER.replace('127.0.0.1:9092', bind)}${more}\n`;

it('nothing, when all is well', async () => {
  expect(await complaints(path.join(temporaryDirectory(), 'new'), listener('127.0.0.1:0'))).toEqual([]);
});

it('a port that another program has', async () => {
  const port = await takenPort();
  expect(await complaints(temporaryDirectory(), listener(`127.0.0.1:${port}`))).toEqual([
    `polylog.toml:6: listener.kafka.bind: 127.0.0.1:${port}: another program listens there`,
  ]);
});

it('an address that this machine does not have', async () => {
  const [complaint] = await complaints(temporaryDirectory(), listener('192.0.2.1:9092', 'anonymous = true'));
  expect(complaint).toContain('192.0.2.1:9092: this machine has no such address now');
});

it.skipIf(process.platform !== 'linux')(
  'a hub that runs on the data directory, and that it has the ports: needs /proc, so Linux',
  async () => {
    const directory = temporaryDirectory();
    const store = await openLogStore({
      ...{ directory, nodeId: 1, clock: SYSTEM_CLOCK, random: SYSTEM_RANDOM, log: new TestLog() },
    });
    const port = await takenPort();
    expect(await lockHolder(path.join(directory, 'index', 'LOCK'))).toBe(process.pid);
    expect(await portsOf(process.pid)).toContain(port);
    expect(await complaints(directory, listener(`127.0.0.1:${port}`))).toEqual([
      `polylog.toml:2: server.data_dir: a hub runs on ${directory} (process ${process.pid}) (a second one would not start)`,
      `polylog.toml:6: listener.kafka.bind: 127.0.0.1:${port}: the hub that runs on this data directory listens there`,
    ]);
    await store.close();
    expect(await complaints(directory, listener('127.0.0.1:0'))).toEqual([]);
  },
);

it('data of another node', async () => {
  const directory = temporaryDirectory();
  mkdirSync(path.join(directory, 'index'));
  writeFileSync(path.join(directory, 'node.json'), '{"nodeId": 7}');
  expect(await complaints(directory, `node_id = 3\n${listener('127.0.0.1:0')}`)).toEqual([
    `polylog.toml:3: server.node_id: the data in ${directory} is that of node 7 (write 7, or choose another data_dir)`,
  ]);
});

it('less room than the reserve', async () => {
  const text = `${listener('127.0.0.1:0')}[storage]\ndisk_reserve_size = "64TiB"\n`;
  const [complaint] = await complaints(path.join(temporaryDirectory(), 'a', 'b'), text);
  expect(complaint).toMatch(
    /^polylog.toml:9: storage.disk_reserve_size: \d+MiB are free on the disk, and the reserve is 64TiB/,
  );
});

it.each([
  ['127.0.0.1:0', 'no-such-host.invalid:9092', /no-such-host.invalid cannot be looked up here \(E\w+\)/],
  ['0.0.0.0:0', 'localhost:9092', /clients on other machines would be told to connect to themselves/],
])('a listener on %s that advertises %s', async (bind, advertised, message) => {
  const text = listener(bind, `anonymous = true\nadvertised = "${advertised}"`);
  expect(await complaints(temporaryDirectory(), text)).toEqual([expect.stringMatching(message)]);
});

it('nothing of a process that is gone, or a file that is not there', async () => {
  expect(await portsOf(2 ** 30)).toEqual(new Set());
  expect(await lockHolder('/nowhere')).toBeUndefined();
});
