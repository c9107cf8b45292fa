// Tells systemd how the hub is (sd_notify): ready, stopping, and alive for as long as the event loop turns. Node has no
// datagram sockets of the file system, so systemd's own program says it: `NotifyAccess=all` in the unit.
import { execFile } from 'node:child_process';
import type { Log } from '../../protocols/port.ts';
import type { Environment } from '../config/interpolation.ts';

const PROGRAM = 'systemd-notify';
const TELLING_MS = 10_000;

export interface Supervisor {
  ready(): void;
  stopping(): void;
}

/** One that says nothing where nobody listens: NOTIFY_SOCKET says whether somebody does. */
export function supervisor(environment: Environment, log: Pick<Log, 'warn'>): Supervisor {
  if (environment['NOTIFY_SOCKET'] === undefined)
    return { ready: () => undefined, stopping: () => undefined };
  const tell = (...states: string[]): void => {
    execFile(PROGRAM, states, { timeout: TELLING_MS }, (error) => {
      if (error !== null) log.warn('notify-failed', { states, reason: error.message });
    });
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    ready: () => {
      tell('READY=1', 'STATUS=serving');
      const everyMs = watchdogMs(environment);
      if (everyMs !== undefined) timer = setInterval(tell, everyMs, 'WATCHDOG=1').unref();
    },
    stopping: () => {
      clearInterval(timer);
      tell('STOPPING=1', 'STATUS=stopping');
    },
  };
}

/** How often to say that all is well: twice in the time that systemd waits; undefined = it does not ask us. */
export function watchdogMs(environment: Environment): number | undefined {
  const microseconds = Number(environment['WATCHDOG_USEC']);
  const pid = environment['WATCHDOG_PID'];
  const isOurs = pid === undefined || Number(pid) === process.pid;
  return isOurs && microseconds > 0 ? Math.max(1, Math.floor(microseconds / 2_000)) : undefined;
}
