// What the figures were taken on.
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

const GIB = 1024 ** 3;

export function describeMachine(): Readonly<Record<string, string | number>> {
  return {
    node: process.version,
    system: `${process.platform} ${release()}`,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / GIB),
    // Figures of a machine that does something else at the same time say little.
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}
