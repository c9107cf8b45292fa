// Which process holds a lock, and where a process listens, as Linux tells in /proc. Where it does not tell, nobody is named.
import { readdir, readFile, readlink, stat } from 'node:fs/promises';

/** Of the `fcntl` lock on a file (LevelDB takes one); undefined = nobody holds it, or nobody knows. */
export async function lockHolder(file: string): Promise<number | undefined> {
  const inode = await stat(file).then(
    ({ ino }) => ino,
    () => undefined,
  );
  if (inode === undefined) return undefined;
  // `1: POSIX  ADVISORY  WRITE 4711 08:01:1234 0 EOF`: process, device and inode. proc(5).
  const lines = (await readText('/proc/locks')).matchAll(
    /^\d+: \S+ +\S+ +WRITE (\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /gm,
  );
  for (const [, pid, lockedInode] of lines) if (Number(lockedInode) === inode) return Number(pid);
  return undefined;
}

/** TCP ports on which a process listens. */
export async function portsOf(pid: number): Promise<ReadonlySet<number>> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
  const sockets = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const tables = await Promise.all(['tcp', 'tcp6'].map((table) => readText(`/proc/${pid}/net/${table}`)));
  const ports = new Set<number>();
  // Local address, remote address, state 0A = listening, and further on the socket's inode. proc_pid_net(5).
  const line = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A (?:\S+ +){5}(\d+) /gm;
  for (const [, port, inode] of tables.join('\n').matchAll(line)) {
    if (sockets.has(inode!)) ports.add(Number.parseInt(port!, 16));
  }
  return ports;
}

function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
