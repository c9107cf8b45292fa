// What an offline check finds, told one by one as it is found.

export type FindingCode =
  /** Bytes that are no batch, or a batch whose bytes have changed. */
  | 'damaged'
  /** The end of the newest segment that the next opening cuts. Not damage. */
  | 'torn-end'
  /** A frame that breaks the grammar under a right checksum. */
  | 'frame'
  /** A batch frame that does not say what its records are. */
  | 'batch'
  /** Offsets that nothing explains the lack of. */
  | 'hole'
  /** Offsets that were on disk and are not there. */
  | 'records-missing'
  /** Batches or files in the wrong order. */
  | 'order'
  /** A leader epoch that is not the file's. */
  | 'leader-epoch'
  /** Written in a newer format. */
  | 'format'
  /** A small file that says nothing, or something that the log does not bear out. */
  | 'small-file'
  /** A row of the index that leads nowhere or astray; the hub would notice and make it anew. */
  | 'index'
  /** Something that is left over and of no use. */
  | 'left-over'
  /** The file system failed. */
  | 'io';

export interface Finding {
  /** A warning is about what a crash may leave and the next opening puts right. */
  readonly severity: 'error' | 'warning';
  readonly code: FindingCode;
  readonly path: string;
  /** Byte in the file, where one is meant. */
  readonly position: number | undefined;
  readonly offset: number | undefined;
  /** A sentence without the place. */
  readonly message: string;
}

export interface Place {
  readonly path: string;
  readonly position?: number;
  readonly offset?: number;
}

/** Of one kind in one file; then they are only counted. One broken thing can be told in thousands of lines. */
const TOLD_MAX = 20;

/** Passes findings on, and counts. */
export class Findings {
  errors = 0;
  warnings = 0;
  readonly #listener: (finding: Finding) => void;
  readonly #told = new Map<string, number>();

  constructor(listener: (finding: Finding) => void) {
    this.#listener = listener;
  }

  error(code: FindingCode, place: Place, message: string): void {
    this.errors++;
    this.#tell('error', code, place, message);
  }

  warning(code: FindingCode, place: Place, message: string): void {
    this.warnings++;
    this.#tell('warning', code, place, message);
  }

  #tell(severity: Finding['severity'], code: FindingCode, place: Place, message: string): void {
    const { path, position, offset } = place;
    const kind = `${severity} ${code} ${path}`;
    const told = this.#told.get(kind) ?? 0;
    this.#told.set(kind, told + 1);
    if (told < TOLD_MAX) this.#listener({ severity, code, path, position, offset, message });
    if (told === TOLD_MAX) {
      const silence = 'more of this kind in this file are counted only';
      this.#listener({ severity, code, path, position: undefined, offset: undefined, message: silence });
    }
  }
}

/** What was looked at. */
export interface InspectionTotals {
  logs: number;
  segments: number;
  batches: number;
  records: number;
  bytes: number;
  indexEntries: number;
}

export function noTotals(): InspectionTotals {
  return { logs: 0, segments: 0, batches: 0, records: 0, bytes: 0, indexEntries: 0 };
}
