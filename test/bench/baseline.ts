// What plain Node does with the same bytes on the same disk: write a group, fdatasync it, take the next. No broker
// that promises durability can be much faster than this, so the ratio to it says more than a number of one machine.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Group {
  readonly groupBytes: number;
  readonly groupRecords: number;
}

/** Records per second; `records` is how many to write, in whole groups and for three seconds at most. */
export function measureBaseline(directory: string, group: Group, records: number): number {
  const path = join(directory, 'baseline.log');
  const file = openSync(path, 'w');
  const bytes = Buffer.alloc(group.groupBytes, 'x');
  const startMs = performance.now();
  let written = 0;
  try {
    while (written < records && performance.now() - startMs < 3_000) {
      writeSync(file, bytes);
      fdatasyncSync(file);
      written += group.groupRecords;
    }
    return written / ((performance.now() - startMs) / 1_000);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
