// The RANGE of `polylog consume`: where to begin, where to stop. `start`, `end`, `-10`, `100:200`, `@-1h:end`,
// `@2026-01-01:+50`. Places are the admin API's; the API says what is wrong with one.

export interface Range {
  readonly from: string;
  readonly to?: string;
  /** Records at most. */
  readonly limit?: number;
}

/** A time may have colons of its own: 2026-09-01T10:00:00+02:00. */
const TIME = String.raw`@?\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?`;
const RANGE = new RegExp(`^(${TIME}|[^:]*)(?::(${TIME}|[^:]*))?$`);

/** Undefined: it is none. */
export function parseRange(text: string): Range | undefined {
  const [, from = '', to] = RANGE.exec(text) ?? [];
  if (!RANGE.test(text)) return undefined;
  const begin = { from: from === '' ? 'start' : from };
  if (to === undefined || to === '') return begin;
  if (!to.startsWith('+')) return { ...begin, to };
  return /^\+\d{1,9}$/.test(to) && Number(to) > 0 ? { ...begin, limit: Number(to) } : undefined;
}
