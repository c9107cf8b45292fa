// SIGTERM and SIGINT: the first asks for a stop and bounds it, the second ends the process at once. Neither loses a
// record: what was acknowledged is on disk.
import type { HubLog } from '../log/hub-log.ts';
import { EXIT } from './surroundings.ts';

export interface SignalOptions {
  /** `process`, or what a test gives. */
  readonly source: { on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: string) => void): unknown };
  readonly exit: (code: number) => void;
  readonly log: HubLog;
}

/** Above what the broker gives itself to stop, below the 5 s that a stop may take. */
const STOP_MS = 4_800;

/** Resolves with the first signal's name. */
export function listenForSignals({ source, exit, log }: SignalOptions): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false;
    const onSignal = (signal: string) => {
      if (isStopping) {
        log.fatal('stopped-at-once', { signal });
        exit(EXIT.failed);
        return;
      }
      isStopping = true;
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
