// Durations and sizes as they are written in the configuration, in URLs and on the command line: `7d`, `250ms`,
// `64MiB`. Everything past the configuration is a number of milliseconds or bytes.

const MILLISECONDS_OF: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const BYTES_OF: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

export const DURATION_FORM = '"250ms", "30s", "5m", "12h", "7d" or "2w"';
export const SIZE_FORM = '"512B", "64KiB", "64MiB", "1GiB" (powers of 1024) or "64MB" (powers of 1000)';

/** Milliseconds, or undefined when `text` is no duration. Parts may follow each other: `1h30m`. */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    totalMs += Number(amount) * (MILLISECONDS_OF[unit!] ?? Number.NaN);
  }
  return wholeNumber(totalMs);
}

/** Bytes, or undefined when `text` is no size. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([KMGT]iB|[kKMGT]B|B)$/.exec(text);
  return match ? wholeNumber(Number(match[1]) * (BYTES_OF[match[2]!] ?? Number.NaN)) : undefined;
}

/** The shortest exact form: `90000` → `90s`. */
export function formatDuration(valueMs: number): string {
  const unit = ['d', 'h', 'm', 's'].find((name) => valueMs > 0 && valueMs % MILLISECONDS_OF[name]! === 0);
  return unit === undefined ? `${valueMs}ms` : `${valueMs / MILLISECONDS_OF[unit]!}${unit}`;
}

/** The shortest exact form in powers of 1024: `65536` → `64KiB`. */
export function formatSize(bytes: number): string {
  const unit = ['TiB', 'GiB', 'MiB', 'KiB'].find((name) => bytes > 0 && bytes % BYTES_OF[name]! === 0);
  return unit === undefined ? `${bytes}B` : `${bytes / BYTES_OF[unit]!}${unit}`;
}

function wholeNumber(value: number): number | undefined {
  const rounded = Math.round(value);
  return Number.isSafeInteger(rounded) ? rounded : undefined;
}
