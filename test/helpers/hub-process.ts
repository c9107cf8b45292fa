// The built hub as a process of its own, on a temporary directory and on ports that are free: for tests that kill
// it, for programs from elsewhere, and for measurements. dist/ must be up to date (build-once.ts sees to it).
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, type Finished } from './child.ts';

const program = join(import.meta.dirname, '..', '..', 'dist', 'command', 'main.cjs');

/** One that has ten thousand partitions to open, on a machine that is busy with something else. */
const START_MS = 180_000;

export interface HubProcess {
  readonly kafkaPort: number;
  readonly mqttPort: number;
  readonly adminPort: number;
  /** `http://127.0.0.1:<adminPort>` */
  readonly adminUrl: string;
  readonly dataDirectory: string;
  readonly pid: number;
  /** SIGTERM; resolves with its exit. */
  stop(): Promise<Finished>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/** Lines of its output that are told of one that ended by itself. */
const TOLD_LINES = 20;

const ownEnds: string[] = [];

/** Of each hub that has ended without being asked to since the last call: how, and the last that it said. */
export function takeOwnEnds(): readonly string[] {
  return ownEnds.splice(0);
}

export type Protocol = 'kafka' | 'mqtt' | 'http';
const ALL: readonly Protocol[] = ['kafka', 'mqtt', 'http'];

/** Ports that are to be the same after a restart; any other is a free one. */
export type FixedPorts = Partial<Readonly<Record<Protocol, number>>>;

/** A listener of each protocol on a free port over one data directory; `more` is further TOML. */
export function hubConfigText(
  dataDirectory: string,
  more = '',
  protocols = ALL,
  ports: FixedPorts = {},
): string {
  const listener = (name: Protocol): string =>
    `[[listener]]\nname = "${name}"\nprotocol = "${name}"\nbind = "127.0.0.1:${ports[name] ?? 0}"\n`;
  return [
    `[server]\ndata_dir = ${JSON.stringify(dataDirectory)}\n`,
    ...protocols.map(listener),
    '[log]\nformat = "json"\n',
    more,
  ].join('\n');
}

/**
 * Starts the hub on `directory` (made when missing; the data lies in its `data/`) and resolves when it is ready.
 */
export async function startHubProcess(
  directory: string,
  more = '',
  protocols: readonly Protocol[] = ALL,
  fixed: FixedPorts = {},
): Promise<HubProcess> {
  mkdirSync(directory, { recursive: true });
  const config = join(directory, 'polylog.toml');
  writeFileSync(config, hubConfigText(join(directory, 'data'), more, protocols, fixed));
  const child = new Child(process.execPath, [program, 'start', '--config', config], {
    workingDirectory: directory,
    // Measurements of half an hour included.
    timeoutMs: 3_600_000,
  });
  const ports = await readPorts(child);
  let isAskedToEnd = false;
  void child.finished.then(({ code, signal }) => {
    if (isAskedToEnd) return;
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const said = child.output.trim().split('\n').slice(-TOLD_LINES).join('\n');
    ownEnds.push(`the hub, process ${child.pid}, has ended unasked, ${how}; the last it said:\n${said}`);
  });
  return {
    ...ports,
    adminUrl: `http://127.0.0.1:${ports.adminPort}`,
    dataDirectory: join(directory, 'data'),
    pid: child.pid,
    stop() {
      isAskedToEnd = true;
      child.kill('SIGTERM');
      return child.finished;
    },
    async kill() {
      isAskedToEnd = true;
      child.kill('SIGKILL');
      await child.finished;
    },
  };
}

interface Ports {
  readonly kafkaPort: number;
  readonly mqttPort: number;
  readonly adminPort: number;
}

/** From the event with which the hub says that it serves. */
async function readPorts(child: Child): Promise<Ports> {
  const [line] = await child.waitFor(/^\{.*"event":"ready".*\}$/m, START_MS);
  const { listeners } = JSON.parse(line) as { listeners: { name: string; port: number }[] };
  const portOf = (name: string): number => listeners.find((listener) => listener.name === name)?.port ?? -1;
  return { kafkaPort: portOf('kafka'), mqttPort: portOf('mqtt'), adminPort: portOf('http') };
}

/** A directory of its own under the system's temporary one, and its removal. */
export function temporaryDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'polylog-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
