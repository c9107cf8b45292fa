// The documents say what is there: names of functions and files, tests that prove promises, packages, and the way from
// README.md to each of them. Their commands are run by src/cli/documents.test.ts.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { describe, expect, it } from 'vitest';

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const files = listed.split('\n').filter((file) => file !== '' && existsSync(file));
const read = (file: string): string => readFileSync(file, 'utf8');
const documents = files.filter((file) => file.endsWith('.md') && !file.startsWith('test/golden/'));
const documentSet = new Set(documents);
const sources = files.filter((file) => /^(?:src|protocols|storage)\/.*\.ts$/.test(file));
/** Paths, and what is left of them without folders in front. */
const fileEnds = new Set(
  files.flatMap((file) => {
    const parts = file.split('/');
    return parts.map((_part, index) => parts.slice(index).join('/'));
  }),
);
/** Words, names of private members with and without their mark. */
const sourceWords = new Set(sources.flatMap((file) => read(file).match(/#?\w+/g) ?? []));

/** Targets of relative links, from the top. */
const linksOf = (file: string): string[] =>
  [...read(file).matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => join(dirname(file), link))
    .map((target) =>
      documentSet.has(`${target.replace(/\/$/, '')}/README.md`) ? join(target, 'README.md') : target,
    );

it('every document is linked from README.md, or from one that is', () => {
  const reached = new Set(['README.md']);
  for (const file of reached) for (const link of linksOf(file)) if (documentSet.has(link)) reached.add(link);
  expect(documents.filter((file) => !reached.has(file))).toEqual([]);
});

describe('src/README.md', () => {
  const walked = [...read('src/README.md').matchAll(/\[`([\w.#]+)`\]\(([^)]+\.ts)\)/g)].map(
    ([, name, link]) => [name!, join('src', link!)] as const,
  );

  it('walks through functions', () => expect(walked.length).toBeGreaterThan(40));

  it.each(walked)('%s is in %s', (name, file) => {
    const [owner, member] = name.split('.');
    const text = read(file);
    expect(text).toMatch(new RegExp(`\\b(?:class|function|const|interface) ${owner}\\b`));
    if (member !== undefined)
      expect(text).toMatch(new RegExp(`^  (?:async |readonly |get )*${member}(?:<[^>]*>)?[(:]`, 'm'));
  });
});

describe('names of the sources', () => {
  const folders = documents.filter((file) => /^(?:src|protocols|storage)\//.test(file));

  it.each(folders)('%s names what is there', (file) => {
    const spans = [
      ...read(file)
        .replace(/^```[\s\S]*?^```/gm, '')
        .matchAll(/`([^`\s]+)`/g),
    ].map(([, span]) => span!);
    const names = spans.flatMap((span) => {
      const member = /^([A-Z]\w+)\.(#?[a-z]\w*)$/.exec(span);
      if (member !== null) return [member[1]!, member[2]!];
      // camelCase and PascalCase: of a function or a class. Words of a protocol have capitals only, or none.
      return /^#?[a-z]+[A-Z]\w*$|^(?:[A-Z][a-z]+){2,}$/.test(span) ? [span] : [];
    });
    const isThere = (name: string) => sourceWords.has(name) || sourceWords.has(`#${name}`);
    expect([...new Set(names)].filter((name) => !isThere(name))).toEqual([]);
  });

  it.each(documents)('%s names files that are there', (file) => {
    const spans = [...read(file).matchAll(/`([\w./-]+\.(?:ts|mjs|md|toml|py))`/g)].map(([, span]) => span!);
    const isThere = (name: string) => fileEnds.has(name) || fileEnds.has(join(dirname(file), name));
    expect(spans.filter((span) => !isThere(span) && !EXAMPLES.includes(span))).toEqual([]);
  });
});

/** Files of a reader's own. */
const EXAMPLES = ['my.toml', 'gateway.toml', 'polylog.toml'];

describe('config/durability.md', () => {
  const rows = read('config/durability.md')
    .split('\n')
    .filter((line) => /^\| /.test(line) && !/^\| (?:what|-)/.test(line));
  const proofs = rows.flatMap((row) => [...row.matchAll(/`(test\/[^`]+)` "([^"]+)"/g)]);

  it('has a test for each promise', () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => !/`test\/[^`]+` "/.test(row))).toEqual([]);
  });

  it.each(proofs.map(([, file, title]) => [file!, title!]))('%s: %s', (file, title) => {
    // A title that is put together has its parts in the text.
    expect(read(file)).toContain(title);
  });
});

it('README.md says of every runtime dependency why, and of nothing else', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const table = /\| package +\| why[\s\S]*?\n\n/.exec(read('README.md'))![0];
  const named = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)]);
  expect(named.map(([, name]) => name!).sort()).toEqual(Object.keys(dependencies).sort());
});
