// What idle partitions take of memory and of open files. Run by openings.ts as the compiler emits it: tsx names each
// closure, which makes it five times as large as it is in what is shipped.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LogStore } from '../../storage/index.ts';
import { openBenchStore } from './bench-store.ts';
import { benchPartition } from './filled-store.ts';

export interface IdlePartitions {
  readonly bytesEach: number;
  /** While all of them were appended to. */
  readonly openFilesMax: number;
  readonly openFiles: number;
  readonly msPerThousand: number;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void; // the flag puts it there

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function openFiles(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0;
}

/** A function of its own, so that nothing of it is left when memory is measured. */
async function makeEach(directory: string, partitions: readonly number[]): Promise<number> {
  const store = await openBenchStore(directory);
  let openFilesMax = 0;
  for (const each of partitions) {
    const log = await store.openPartition({ ...benchPartition(each), leaderEpoch: 1 });
    log.join((writer) => {
      writer.startRecord(1, Buffer.alloc(0), -1, -1, 0);
      writer.endRecord(Buffer.alloc(100), 0, 100, null);
    });
    if (each % 1000 === 0) openFilesMax = Math.max(openFilesMax, openFiles());
  }
  openFilesMax = Math.max(openFilesMax, openFiles());
  await store.close();
  return openFilesMax;
}

/** Manifests are written behind everybody's back, and the work that waits for its turn takes memory. */
async function whenQuiet(): Promise<void> {
  for (let last = 0; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const { fsWrite } = process.resourceUsage();
    const switches = process.resourceUsage().voluntaryContextSwitches + fsWrite;
    if (switches - last < 100) return;
    last = switches;
  }
}

async function openAll(directory: string, partitions: readonly number[]): Promise<LogStore> {
  const store = await openBenchStore(directory);
  await Promise.all(
    partitions.map((each) => store.openPartition({ ...benchPartition(each), leaderEpoch: 2 })),
  );
  return store;
}

// On tmpfs when there is one: it is not the disk that is measured.
const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'polylog-bench-'));
try {
  const count = Number(process.argv[2] ?? 20_000);
  const partitions = Array.from({ length: count }, (_, index) => index);
  const openFilesMax = await makeEach(directory, partitions);
  const before = heapBytes();
  const started = performance.now();
  const store = await openAll(directory, partitions);
  const ms = performance.now() - started;
  await whenQuiet();
  const measured: IdlePartitions = {
    bytesEach: (heapBytes() - before) / count,
    openFilesMax,
    openFiles: openFiles(),
    msPerThousand: (1000 * ms) / count,
  };
  process.stdout.write(JSON.stringify(measured));
  await store.close();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
