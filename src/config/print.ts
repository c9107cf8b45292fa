// The effective configuration as TOML, each value with where it comes from: `polylog check --print`.
import { type EffectiveValue, effectiveValues } from './effective.ts';
import { formatSource, type WrittenTree } from './sources.ts';

/** Tables inside a section are shown with dotted keys. */
export function printConfig(tree: WrittenTree): string {
  const blocks = new Map<string, EffectiveValue[]>();
  for (const value of effectiveValues(tree)) {
    const section = sectionOf(value).join('.');
    const block = blocks.get(section);
    if (block === undefined) blocks.set(section, [value]);
    else block.push(value);
  }
  return `${[...blocks.values()].map(printBlock).join('\n\n')}\n`;
}

/** `[name]`, or `[[name]]` and which of them. */
function sectionOf({ path }: EffectiveValue) {
  return path.slice(0, typeof path[1] === 'number' ? 2 : 1);
}

function printBlock(values: readonly EffectiveValue[]): string {
  const section = sectionOf(values[0]!); // a block begins with a value
  const title = section.length === 2 ? `[[${section[0]}]]` : `[${section[0]}]`;
  const lines = values.map(({ path, value, source }) => {
    const key = path.slice(section.length).map(shownKey).join('.');
    const shown = source.kind === 'secret' ? '"(a secret)"' : JSON.stringify(value);
    return { text: `${key} = ${shown}`, source: formatSource(source) };
  });
  const width = Math.max(...lines.map(({ text }) => Math.min(text.length, 48)));
  return [title, ...lines.map(({ text, source }) => `${text.padEnd(width)}  # ${source}`)].join('\n');
}

function shownKey(key: string | number): string {
  return /^[A-Za-z0-9_-]+$/.test(String(key)) ? String(key) : JSON.stringify(key);
}
