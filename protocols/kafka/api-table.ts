// The table of APIs in the READMEs, made from the list itself; a test compares.

import type { Api } from './api.ts';

/** Markdown with even columns, as the formatter leaves it; a row per key, without the markers around it. */
export function renderApiTable(apis: readonly Api[]): string {
  const keys = [...new Set(apis.map(({ key }) => key))].sort((a, b) => a - b);
  const rows = keys.map((key) => cellsOf(apis.filter((api) => api.key === key)));
  const table = [['key', 'API', 'versions'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  const [heading, ...body] = table.map((cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [heading ?? [], rule, ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellsOf(values: readonly Api[]): string[] {
  const { key, name } = values[0] as Api; // a row is made for a key that some value has
  const served = values.filter(({ isRefused }) => !isRefused).map(rangeOf);
  const refused = values.filter(({ isRefused }) => isRefused).map((api) => `${rangeOf(api)} refused`);
  return [`${key}`, name, [...served, ...refused].join(', ')];
}

function rangeOf({ min, max }: Api): string {
  return min === max ? `${min}` : `${min}–${max}`;
}
