// The table of APIs in the READMEs, made from the list itself; a test compares.

import type { Api } from './api.ts';

/** Markdown, a row per key, without the markers around it. */
export function renderApiTable(apis: readonly Api[]): string {
  const rows = [...new Set(apis.map(({ key }) => key))]
    .sort((a, b) => a - b)
    .map((key) => rowOf(apis.filter((api) => api.key === key)));
  return ['| key | API | versions |', '|---|---|---|', ...rows].join('\n');
}

function rowOf(values: readonly Api[]): string {
  const { key, name } = values[0] as Api; // a row is made for a key that some value has
  const served = values.filter(({ isRefused }) => !isRefused).map(rangeOf);
  const refused = values.filter(({ isRefused }) => isRefused).map((api) => `${rangeOf(api)} refused`);
  return `| ${key} | ${name} | ${[...served, ...refused].join(', ')} |`;
}

function rangeOf({ min, max }: Api): string {
  return min === max ? `${min}` : `${min}–${max}`;
}
