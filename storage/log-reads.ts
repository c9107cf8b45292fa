// The reading end of a log as a whole, made for its first reader: most logs have none at most times, and what is not
// there takes no memory.
import type { RecordRange } from './batch-cursor.ts';
import type { StorageError } from './errors.ts';
import type { LogBody } from './log-body.ts';
import { LogReader } from './log-reader.ts';
import type { Segment } from './segment.ts';
import type { StoreParts } from './store-parts.ts';
import { TimeLookup } from './time-lookup.ts';

export interface ReadLog extends LogBody {
  logStartOffset(): number;
  foundCorrupt(error: StorageError, segment: Segment): void;
  read(offset: number, maxBytes: number, upTo: number): Promise<RecordRange>;
}

export class LogReads {
  readonly byOffset: LogReader;
  readonly #log: ReadLog;
  #byTime: TimeLookup | undefined;

  constructor(parts: StoreParts, log: ReadLog) {
    const { segments, tail, index, aborted, completion, background } = log;
    this.#log = log;
    this.byOffset = new LogReader(parts, {
      segments,
      tail,
      index,
      aborted,
      logStartOffset: () => log.logStartOffset(),
      onIndexUnfit: (segment, wrong) => background.add('indexing', completion.mend(segment, wrong)),
      onCorrupt: (error, segment) => log.foundCorrupt(error, segment),
    });
  }

  get byTime(): TimeLookup {
    this.#byTime ??= new TimeLookup(this.#log);
    return this.#byTime;
  }
}
