// What this machine has against the configuration, at this moment: ports that are taken, disks that are full, names that
// nobody knows. None of it is wrong with the file, so it is told as warnings, and the hub may start all the same.
import { lookup } from 'node:dns/promises';
import { readFile, statfs } from 'node:fs/promises';
import path from 'node:path';
import { listenProblem } from '../listen-probe.ts';
import { formatAddress, isLoopback } from './address.ts';
import type { ListenerConfig } from './broker-config.ts';
import type { LoadedConfig } from './load.ts';
import { lockHolder, portsOf } from './processes.ts';
import { type ConfigIssue, type Source, sourceOf } from './sources.ts';
import { formatSize } from './units.ts';

type Path = readonly (string | number)[];

export async function checkMachine(config: LoadedConfig): Promise<ConfigIssue[]> {
  const { dataDirectory, listeners } = config.broker;
  const hubPid = await lockHolder(path.join(dataDirectory, 'index', 'LOCK'));
  const hubPorts = hubPid === undefined ? new Set<number>() : await portsOf(hubPid);
  const found = await Promise.all([
    checkDataDirectory(config, hubPid),
    checkDisk(config),
    ...listeners.map((listener, index) => checkPort(config, listener, index, hubPorts)),
    ...listeners.map((listener, index) => checkAdvertised(config, listener, index)),
  ]);
  return found.flat();
}

async function checkDataDirectory(config: LoadedConfig, hubPid: number | undefined): Promise<ConfigIssue[]> {
  const { dataDirectory, nodeId } = config.broker;
  const issues: ConfigIssue[] = [];
  if (hubPid !== undefined) {
    const hint = 'a second one would not start';
    issues.push(
      issueAt(config, ['server', 'data_dir'], `a hub runs on ${dataDirectory} (process ${hubPid})`, hint),
    );
  }
  const owner = await nodeIdOf(dataDirectory);
  if (owner !== undefined && owner !== nodeId) {
    const message = `the data in ${dataDirectory} is that of node ${owner}`;
    issues.push(
      issueAt(config, ['server', 'node_id'], message, `write ${owner}, or choose another data_dir`),
    );
  }
  return issues;
}

/** Undefined where there is no data yet, or what is there cannot be read: the start says more. */
async function nodeIdOf(dataDirectory: string): Promise<number | undefined> {
  try {
    const node: unknown = JSON.parse(await readFile(path.join(dataDirectory, 'node.json'), 'utf8'));
    const isNode = typeof node === 'object' && node !== null && 'nodeId' in node;
    return isNode && typeof node.nodeId === 'number' ? node.nodeId : undefined;
  } catch {
    return undefined;
  }
}

async function checkDisk(config: LoadedConfig): Promise<ConfigIssue[]> {
  const { dataDirectory, storage } = config.broker;
  const free = await freeBytes(dataDirectory);
  if (free === undefined || free >= storage.diskReserveBytes) return [];
  const mebibytes = `${Math.floor(free / 1024 ** 2)}MiB`;
  const message = `${mebibytes} are free on the disk, and the reserve is ${formatSize(storage.diskReserveBytes)}: appends would be refused`;
  return [issueAt(config, ['storage', 'disk_reserve_size'], message)];
}

/** Of the file system that the directory is, or will be, on. */
async function freeBytes(directory: string): Promise<number | undefined> {
  for (let at = directory; ; at = path.dirname(at)) {
    try {
      const { bavail, bsize } = await statfs(at);
      return bavail * bsize;
    } catch {
      if (path.dirname(at) === at) return undefined;
    }
  }
}

const BIND_REASONS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'this machine has no such address now',
  EACCES: 'this user may not listen there (ports below 1024 need a privilege)',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
};

/** Listening for a moment is the only question that has a sure answer. */
async function checkPort(
  config: LoadedConfig,
  { host, port }: ListenerConfig,
  index: number,
  hubPorts: ReadonlySet<number>,
): Promise<ConfigIssue[]> {
  if (port === 0) return [];
  const problem = await listenProblem({ host, port });
  if (problem === undefined) return [];
  const code = problem.code ?? problem.message;
  const taken = hubPorts.has(port)
    ? 'the hub that runs on this data directory listens there'
    : 'another program listens there';
  const reason = code === 'EADDRINUSE' ? taken : (BIND_REASONS[code] ?? code);
  return [issueAt(config, ['listener', index, 'bind'], `${formatAddress({ host, port })}: ${reason}`)];
}

async function checkAdvertised(
  config: LoadedConfig,
  { advertised, host }: ListenerConfig,
  index: number,
): Promise<ConfigIssue[]> {
  if (advertised === undefined) return [];
  const at = ['listener', index, 'advertised'];
  if (isLoopback(advertised.host) && !isLoopback(host)) {
    const message = `clients on other machines would be told to connect to themselves (${advertised.host})`;
    return [issueAt(config, at, message, 'write the name or address that they use')];
  }
  const code = await lookup(advertised.host).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  if (code === undefined) return [];
  const message = `${advertised.host} cannot be looked up here (${code})`;
  return [issueAt(config, at, message, 'clients must be able to')];
}

function issueAt({ written }: LoadedConfig, at: Path, message: string, hint?: string): ConfigIssue {
  const isWritten = written.values[String(at[0])] !== undefined;
  const source: Source = isWritten ? sourceOf(written, at) : { kind: 'default' };
  const element = typeof at[1] === 'number' ? written.values[String(at[0])] : undefined;
  const named: unknown = Array.isArray(element) ? element[at[1] as number] : undefined; // the index of an element
  const name = typeof named === 'object' && named !== null && 'name' in named ? String(named.name) : at[1];
  const key = [at[0], name, ...at.slice(2)].join('.');
  return { source, key, message, hint };
}
