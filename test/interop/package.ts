// What npm makes of the repository, in an empty folder: the package's files, a hub that comes out of it, and where a unit of
// systemd finds it.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child, run } from '../helpers/child.ts';
import { temporaryDirectory } from '../helpers/hub-process.ts';
import type { InteropCase } from './case.ts';
import { freePort } from './own-hub.ts';

const repository = join(import.meta.dirname, '..', '..');
/** The command is in it twice: built into one file with its code cache, and as the modules that applications import. */
const PACKED_BYTES_MAX = 4 << 20;
const INSTALL_MS = 300_000;
const DEFAULT_LISTENERS = ['kafka', 'mqtt', 'mqtt-ws', 'admin'];

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

async function pack(directory: string): Promise<Packed> {
  const told = await run('npm', ['pack', '--json', '--pack-destination', directory], {
    workingDirectory: repository,
  });
  const [made] = JSON.parse(told.toString()) as [Packed];
  return made;
}

const packed: InteropCase = {
  name: 'npm pack: npx polylog start works in an empty folder, and stops cleanly',
  needs: [],
  timeoutMs: 2 * INSTALL_MS,
  async run() {
    const directory = temporaryDirectory();
    try {
      const { filename, size, files } = await pack(directory.path);
      holdsWhatItShould(files.map(({ path }) => path));
      ok(size < PACKED_BYTES_MAX, `the package has ${size} bytes`);
      writeFileSync(join(directory.path, 'package.json'), '{"private":true}\n');
      const flags = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
      await run('npm', ['install', ...flags, join(directory.path, filename)], {
        workingDirectory: directory.path,
        timeoutMs: INSTALL_MS,
      });
      await serves(directory.path);
      return `${files.length} files, ${Math.round(size / 1_024)} KiB`;
    } finally {
      directory.remove();
    }
  },
};

function holdsWhatItShould(paths: readonly string[]): void {
  const needed = [
    ...[
      'dist/command/main.cjs',
      'dist/src/polylog.js',
      'dist/src/polylog.d.ts',
      'dist/src/aedes/aedes-store.d.ts',
    ],
    ...['config/polylog.toml', 'config/polylog.schema.json', 'config/deploy/polylog.service'],
    ...['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'],
  ];
  deepEqual(
    needed.filter((path) => !paths.includes(path)),
    [],
  );
  const wrong = /^(?:test|src|storage|protocols|node_modules)\/|(?<!\.d)\.ts$|\.test\.|\.tsbuildinfo$|^\./;
  deepEqual(
    paths.filter((path) => wrong.test(path)),
    [],
  );
}

/** The default configuration, but for its ports. */
async function serves(workingDirectory: string): Promise<void> {
  const settings: string[] = [];
  let adminPort = 0;
  for (const name of DEFAULT_LISTENERS) {
    const port = await freePort();
    if (name === 'admin') adminPort = port;
    settings.push('--set', `listener.${name}.bind=127.0.0.1:${port}`);
  }
  const polylog = async (argv: readonly string[], input = ''): Promise<string> =>
    (
      await run('npx', ['--no-install', 'polylog', ...argv, '--admin', `http://127.0.0.1:${adminPort}`], {
        workingDirectory,
        input,
      })
    ).toString();
  const hub = new Child('npx', ['--no-install', 'polylog', 'start', ...settings], {
    workingDirectory,
    timeoutMs: INSTALL_MS,
  });
  await hub.waitFor(/is ready after (\d+) ms/, INSTALL_MS);
  equal(await polylog(['health']), 'ready\n');
  await polylog(['produce', 'greetings'], 'hello\n');
  const record = JSON.parse(await polylog(['consume', 'greetings'])) as { value: string };
  equal(record.value, 'hello');
  ok(existsSync(join(workingDirectory, 'data', 'topics', 'greetings')));
  // npx keeps a SIGTERM to itself; supervisors start the program without it, and a Ctrl-C reaches all.
  process.kill(await innermost(hub.pid), 'SIGTERM');
  equal((await hub.finished).code, 0);
}

/** The last of a chain of processes that each started one: npx, a shell, the hub. */
async function innermost(pid: number): Promise<number> {
  const { code, stdout } = await new Child('ps', ['-o', 'pid=', '--ppid', `${pid}`]).finished;
  return code === 0 ? innermost(Number(stdout.toString().trim().split(/\s+/)[0])) : pid;
}

const systemd: InteropCase = {
  name: 'npm install of the packed file: the program is where the systemd unit looks for it, and takes what it is told',
  needs: [],
  timeoutMs: 2 * INSTALL_MS,
  async run() {
    const directory = temporaryDirectory();
    try {
      const { filename } = await pack(directory.path);
      const prefix = join(directory.path, 'opt/polylog');
      // As config/deploy/README.md says it.
      await run('npm', ['install', '--omit=dev', '--prefix', prefix, join(directory.path, filename)], {
        timeoutMs: INSTALL_MS,
      });
      const unit = readFileSync(join(repository, 'config/deploy/polylog.service'), 'utf8');
      const check = /^ExecStartPre=\/opt\/polylog\/(\S+) (.*)$/m.exec(unit);
      const [program = '', argv = ''] = check?.slice(1) ?? [];
      const config = join(repository, 'config/polylog.toml');
      const said = await run(
        join(prefix, program),
        argv.split(' ').map((word) => (word === '/etc/polylog/polylog.toml' ? config : word)),
        { workingDirectory: directory.path },
      );
      match(said.toString(), /polylog\.toml: nothing wrong/);
      ok(existsSync(join(prefix, 'node_modules/polylog/README.md')));
    } finally {
      directory.remove();
    }
  },
};

export const packageCases: readonly InteropCase[] = [packed, systemd];
