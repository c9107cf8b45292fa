// The documents for operators: every command in them runs, and every key that they name is one.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { type AdminFixture, openAdmin } from '../admin/admin-fixture.ts';

const root = path.join(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const blocks = (text: string): string[] =>
  [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].flatMap(([, block]) =>
    block!
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  );

let admin: AdminFixture;
beforeAll(async () => {
  admin = await openAdmin({ toml: '[[listener]]\nname = "mqtt"\nprotocol = "mqtt"\nbind = "127.0.0.1:0"\n' });
  await admin.hub.topics.create({ name: 'plant', partitions: 1, replicationFactor: 1, config: {} });
  await admin.append('plant', 0, [{ key: 'plant/7/temp', value: '21.5' }]);
  await admin.commit('billing', 'plant', 0, 0);
});
afterAll(() => admin.close());

describe('config/troubleshooting.md', () => {
  const commands = blocks(read('config/troubleshooting.md'));

  it('has commands', () => expect(commands.length).toBeGreaterThan(12));

  it.each(commands.filter((line) => line.startsWith('polylog ')))('%s', async (line) => {
    const argv = line.split(' ').slice(1);
    let err = '';
    const exitCode = await runCommandLine(argv, {
      out: () => undefined,
      outMuch: async () => true,
      err: (text) => {
        err += text;
      },
      environment: { POLYLOG_ADMIN: admin.url },
      workingDirectory: root,
    });
    // `check` may say that a port is taken on this machine, which is no failure.
    expect([exitCode, argv[0] === 'check' ? '' : err]).toEqual([0, '']);
  });

  it.each(commands.filter((line) => !line.startsWith('polylog ')))('%s', async (line) => {
    const [, method, url, body] = /^curl -s -X (\w+) 127\.0\.0\.1:9640(\S+) .* -d '(.*)'$/.exec(line) ?? [];
    const answer = await admin.call({ method: method!, path: url!, body: JSON.parse(body!) });
    expect(answer.status).toBe(200);
  });
});

describe('config/coming-from.md', () => {
  const known = [...read('config/README.md').matchAll(/^\| `([^`]+)`/gm)].map(([, key]) => key!);
  const named = [...read('config/coming-from.md').matchAll(/^\| [^|]+\| (`[^|]+`) *\|/gm)].flatMap(
    ([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, key]) => key!),
  );

  it('names keys that there are', () => {
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter((key) => !known.includes(key))).toEqual([]);
  });
});
