// What a process has cost so far, by /proc; zeros where there is none.
import { existsSync, readFileSync } from 'node:fs';

/** User and system time, which the system counts in hundredths of a second. */
export function processCpuSeconds(pid: number): number {
  // The name in parentheses may hold anything; the fields after it are counted from its end.
  const fields = read(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}

export const residentMiB = (pid: number): number => statusMiB(pid, 'VmRSS');

/** The most that it ever was. */
export const peakResidentMiB = (pid: number): number => statusMiB(pid, 'VmHWM');

function statusMiB(pid: number, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(read(pid, 'status'))?.[1];
  return Number(kib ?? 0) / 1_024;
}

function read(pid: number, name: string): string {
  const path = `/proc/${pid}/${name}`;
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
