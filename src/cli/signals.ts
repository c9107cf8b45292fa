// SIGTERM and SIGINT: the first asks for a stop and bounds it, the second ends the process at once. Neither loses a
// record: what was acknowledged is on disk. A Ctrl-C arrives twice under npm: the terminal sends it to npm and to the
// hub, and npm passes its own on; the echo is not the second.
import type { HubLog } from '../log/hub-log.ts';
import { EXIT } from './surroundings.ts';

export interface SignalOptions {
  /** `process`, or what a test gives. */
  readonly source: { on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown };
  readonly exit: (code: number) => void;
  readonly log: Pick<HubLog, 'fatal'>;
}

/** Above what the broker gives itself to stop, below the 5 s that a stop may take. */
const STOP_MS = 4_800;

/** The same signal again within this time is the echo. */
const ECHO_MS = 1_000;

/** Resolves with the first signal's name. */
export function listenForSignals({ source, exit, log }: SignalOptions): Promise<string> {
  return new Promise((resolve) => {
    let first: { readonly signal: string; readonly atMs: number } | undefined;
    const onSignal = (signal: string) => {
      if (first !== undefined) {
        if (signal === first.signal && performance.now() - first.atMs < ECHO_MS) return;
        log.fatal('stopped-at-once', { signal });
        exit(EXIT.failed);
        return;
      }
      first = { signal, atMs: performance.now() };
      setTimeout(() => {
        log.fatal('stop-took-too-long', { afterMs: STOP_MS });
        exit(EXIT.failed);
      }, STOP_MS).unref();
      resolve(signal);
    };
    source.on('SIGTERM', onSignal);
    source.on('SIGINT', onSignal);
  });
}
