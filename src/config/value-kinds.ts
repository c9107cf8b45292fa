// Kinds of values of the configuration: durations, sizes, addresses. Written with their unit, checked to their bounds, read
// as milliseconds, bytes, host and port.
import * as z from 'zod';
import { parseAddress } from './address.ts';
import { DURATION_FORM, formatDuration, formatSize, parseDuration, parseSize, SIZE_FORM } from './units.ts';

declare module 'zod' {
  /** Read by schema-tree.ts. */
  interface GlobalMeta {
    /** What the key table of the README calls the type. */
    form?: string;
    /** A reload leaves it as it is; anything else is in effect at once. */
    restart?: true;
  }
}

export const duration = (minMs: number, maxMs: number) =>
  z
    .string()
    .transform((text, context) => {
      const valueMs = parseDuration(text);
      if (valueMs !== undefined && valueMs >= minMs && valueMs <= maxMs) return valueMs;
      const message =
        valueMs === undefined
          ? `must be a duration such as ${DURATION_FORM}, not "${text}"`
          : `must be from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, not "${text}"`;
      context.issues.push({ code: 'custom', message, input: text });
      return z.NEVER;
    })
    .meta({ form: 'duration' });

export const size = (minBytes: number, maxBytes: number) =>
  z
    .string()
    .transform((text, context) => {
      const bytes = parseSize(text);
      if (bytes !== undefined && bytes >= minBytes && bytes <= maxBytes) return bytes;
      const message =
        bytes === undefined
          ? `must be a size such as ${SIZE_FORM}, not "${text}"`
          : `must be from ${formatSize(minBytes)} to ${formatSize(maxBytes)}, not "${text}"`;
      context.issues.push({ code: 'custom', message, input: text });
      return z.NEVER;
    })
    .meta({ form: 'size' });

export const address = (form: string, hint: string) =>
  z
    .string()
    .transform((text, context) => {
      const parsed = parseAddress(text);
      if (parsed) return parsed;
      const message = `must be ${form}, not "${text}"`;
      context.issues.push({ code: 'custom', message, input: text, params: { hint } });
      return z.NEVER;
    })
    .meta({ form: 'host:port' });

/** How the configuration is parsed: once, so that compiling a parser for it would take longer than it saves. */
export const ONCE = { jitless: true } as const;

export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;
export const DAY_MS = 86_400_000;
