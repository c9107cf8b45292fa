// Commands without a hub: help, version, wrong usage, check.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { LISTENER as FIXED } from '../config/fixtures.ts';

/** On any free port, for a port that is taken is a warning. */
const LISTENER = FIXED.replace(':9092', ':0');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'polylog-cli-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function run(...argv: string[]) {
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
    environment: {},
    workingDirectory: directory,
  });
  return { exitCode, ...said };
}

async function file(name: string, text: string): Promise<string> {
  const at = path.join(directory, name);
  await writeFile(at, text);
  return at;
}

describe('polylog', () => {
  it('--version prints the package version alone', async () => {
    expect(await run('--version')).toEqual({ exitCode: 0, out: '0.1.0\n', err: '' });
  });

  it('--help prints commands and examples', async () => {
    const { exitCode, out, err } = await run('--help');
    expect([exitCode, err]).toEqual([0, '']);
    for (const part of ['start [options]', 'check [options]', 'polylog check --print', 'Exit codes']) {
      expect(out).toContain(part);
    }
  });

  it.each([
    [['chek'], /unknown command 'chek'\n\(Did you mean check\?\)/],
    [['check', '--frob'], /unknown option '--frob'/],
    [['check', 'extra'], /too many arguments/],
    [['check', '--config'], /argument missing/],
    [['start', '--set', 'log.level'], /'log\.level' is invalid\. It must be section\.key=value\./],
    [[], /Usage: polylog/],
  ])('%j is wrong usage: exit 2, said on stderr', async (argv, expected) => {
    const { exitCode, out, err } = await run(...argv);
    expect([exitCode, out]).toEqual([2, '']);
    expect(err).toMatch(expected);
  });
});

describe('polylog check', () => {
  it('says that nothing is wrong', async () => {
    const config = await file('right.toml', LISTENER);
    expect(await run('check', '--config', config)).toEqual({
      exitCode: 0,
      out: `${config}: nothing wrong\n`,
      err: '',
    });
  });

  it('says everything that is wrong, a line each, and exits 1', async () => {
    const config = await file('wrong.toml', `${LISTENER}[log]\nlevle = "info"\nformat = "xml"\n`);
    expect(await run('check', '--config', config)).toEqual({
      exitCode: 1,
      out: '',
      err: [
        `${config}:6: log.levle: unknown key (did you mean level?)\n`,
        `${config}:7: log.format: must be one of text, json, not "xml"\n`,
      ].join(''),
    });
  });

  it('--print shows values and sources, and takes --set', async () => {
    const config = await file('print.toml', LISTENER);
    const { exitCode, out } = await run(
      'check',
      '--print',
      '--config',
      config,
      '--set',
      'log.level=warn',
      '--set',
      'log.format=json',
    );
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^level = "warn" +# --set log\.level$/m);
    expect(out).toMatch(/^format = "json" +# --set log\.format$/m);
    expect(out).toMatch(/^node_id = 1 +# default$/m);
  });

  it('takes polylog.toml of the working directory, else the packaged default', async () => {
    expect((await run('check')).out).toMatch(/config\/polylog\.toml: nothing wrong\n$/);
    await file('polylog.toml', LISTENER);
    expect((await run('check')).out).toBe('polylog.toml: nothing wrong\n');
    await rm(path.join(directory, 'polylog.toml'));
  });

  it('refuses a data directory that is a file, or below one', async () => {
    const config = await file('data.toml', `${LISTENER}[server]\ndata_dir = "data.toml"\n`);
    const line = `${config}:6: server.data_dir: ${config} is not a directory\n`;
    expect(await run('check', '--config', config)).toEqual({ exitCode: 1, out: '', err: line });
    const below = await run('check', '--config', config, '--set', 'server.data_dir=data.toml/x/y');
    expect(below.err).toBe(
      `--set server.data_dir: ${config}/x/y cannot be made: ${config} is not a directory\n`,
    );
  });
});
