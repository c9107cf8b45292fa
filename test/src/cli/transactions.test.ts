// `polylog transactions` against an admin API: what is printed for people and for programs, and the exit codes.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { type FakeAdmin, NOW_MS, openFakeAdmin } from '../admin/fake-target.ts';

let admin: FakeAdmin;
beforeAll(async () => {
  const ids = [
    ['open/1:a ü', 'ongoing'],
    ['closed', 'empty'],
    ['steers\u001b[2J', 'ongoing'],
  ] as const;
  admin = await openFakeAdmin({
    transactions: ids.map(([transactionalId, state]) => ({
      ...{ transactionalId, state, producerId: 4, producerEpoch: 1, timeoutMs: 60_000 },
      ...{ startedAtMs: state === 'empty' ? -1 : NOW_MS, updatedAtMs: NOW_MS },
      ...{ partitions: [{ topic: 'a', partition: 3 }], groups: ['g'] },
    })),
  });
});
afterAll(() => admin.close());

async function run(argv: readonly string[], environment: Record<string, string> = {}) {
  const said = { out: '', err: '' };
  const exitCode = await runCommandLine(argv, {
    out: (text) => {
      said.out += text;
    },
    outMuch: async (text) => {
      said.out += text;
      return true;
    },
    err: (text) => {
      said.err += text;
    },
    environment: { POLYLOG_ADMIN: admin.url, ...environment },
    workingDirectory: '/',
  });
  return { exitCode, ...said };
}

it('list: a table, in which names cannot steer the terminal', async () => {
  const { exitCode, out, err } = await run(['transactions', 'list']);
  expect([exitCode, err]).toEqual([0, '']);
  const since = new Date(NOW_MS).toISOString();
  expect(out.split('\n')).toEqual([
    `TRANSACTIONAL ID  STATE    PRODUCER  EPOCH  TIMEOUT  OPEN SINCE                UPDATED`,
    `closed            empty    4         1      60 s     -                         ${since}`,
    `open/1:a ü        ongoing  4         1      60 s     ${since}  ${since}`,
    `steers?[2J        ongoing  4         1      60 s     ${since}  ${since}`,
    '',
  ]);
});

it('list --output json: an object a line, as the API gives it', async () => {
  const { out } = await run(['transactions', 'list', '--output', 'json']);
  const lines = out.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).transactionalId)).toEqual([
    'closed',
    'open/1:a ü',
    'steers\u001b[2J',
  ]);
});

it.each(['describe', 'abort'])('%s: the transaction and where it has written', async (verb) => {
  const { exitCode, out } = await run(['transactions', verb, 'open/1:a ü', '--output', 'json']);
  expect(exitCode).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ transactionalId: 'open/1:a ü', groups: ['g'] });
  expect((await run(['transactions', verb, 'open/1:a ü'])).out).toMatch(/topic +a:3\ngroup +g\n/);
});

it.each([
  [['transactions', 'describe', 'none'], 1, /there is no transactional id none/],
  [['transactions', 'abort', 'closed'], 1, /nothing is open/],
  [['transactions', 'abort'], 2, /missing required argument/],
  [['transactions', 'list', '--output', 'xml'], 2, /Allowed choices are table, json/],
  [['transactions', 'list', '--admin', 'nowhere'], 2, /nowhere is no URL/],
  [['transactions', 'list', '--admin', 'http://127.0.0.1:1'], 3, /http:\/\/127\.0\.0\.1:1 cannot be reached/],
] as const)('%j: exit %i, said on stderr', async (argv, expected, message) => {
  const { exitCode, out, err } = await run(argv);
  expect([exitCode, out]).toEqual([expected, '']);
  expect(err).toMatch(message);
});
