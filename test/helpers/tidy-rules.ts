// The rules that test/tidy.test.ts holds the repository to. Each is a function from files to complaints, so that
// it can be shown to fail on a few lines of text.

export interface SourceFile {
  /** Relative to the repository, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** As written. */
  readonly specifier: string;
  readonly reExport: boolean;
}

// ------------------------------------------------------------------------------------------- reading

/** The text with comments blanked out, and on request what is inside quotes too; positions stay as they are. */
export function blanked(text: string, what: 'comments' | 'comments and strings'): string {
  const token = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return text.replace(token, (match) => {
    const quote = match.charAt(0);
    if (quote === '/') return match.replace(/[^\n]/g, ' ');
    return what === 'comments' ? match : quote + match.slice(1, -1).replace(/[^\n]/g, ' ') + quote;
  });
}

/** Every `import … from`, `import '…'`, `export … from` and `import('…')`, types included. */
export function importsOf(text: string): Import[] {
  const code = blanked(text, 'comments');
  const imports: Import[] = [];
  const statement = /^(import|export)\b(?:[\w\s{},*$]*?\bfrom)?\s*(['"])([^'"\n]+)\2/gm;
  for (const match of code.matchAll(statement)) {
    imports.push({ specifier: match[3] as string, reExport: match[1] === 'export' });
  }
  for (const match of blanked(text, 'comments and strings').matchAll(/\bimport\(\s*(['"])( +)\1/g)) {
    const end = match.index + match[0].length - 1;
    imports.push({ specifier: text.slice(end - (match[2] as string).length, end), reExport: false });
  }
  return imports;
}

/** Path of the repository that a relative specifier names; undefined for packages and node's own modules. */
export function resolveImport(fromPath: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const parts = fromPath.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

export const isSource = (path: string): boolean => path.endsWith('.ts');

const isUnder = (path: string, ...folders: string[]): boolean =>
  folders.some((folder) => path.startsWith(`${folder}/`));

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly specifier: string;
}

function edgesOf(files: readonly SourceFile[]): Edge[] {
  const edges: Edge[] = [];
  for (const file of files.filter(({ path }) => isSource(path))) {
    for (const { specifier } of importsOf(file.text)) {
      const to = resolveImport(file.path, specifier);
      if (to !== undefined) edges.push({ from: file.path, to, specifier });
    }
  }
  return edges;
}

// ------------------------------------------------------------------------------------------- imports

/** The only files of `src/` that may name a protocol: the composition root. */
const COMPOSITION_ROOTS = ['src/broker.ts'];

/** Who may import what, outside tests. The first complaint about an import is the one given. */
export function layerComplaints(files: readonly SourceFile[]): string[] {
  const complaints: string[] = [];
  const known = new Set(files.map(({ path }) => path));
  for (const { from, to, specifier } of edgesOf(files)) {
    const complaint = known.has(to) ? layerComplaint(from, to) : 'there is no such file';
    if (complaint !== undefined) complaints.push(`${from} imports '${specifier}': ${complaint}`);
  }
  return complaints;
}

function layerComplaint(from: string, to: string): string | undefined {
  if (isUnder(from, 'test') || !from.includes('/')) return undefined;
  if (isUnder(to, 'test')) return 'the product never imports its tests';
  if (from === 'protocols/port.ts') return 'the port imports nothing';
  if (isUnder(from, 'storage')) {
    return isUnder(to, 'storage') ? undefined : 'storage/ imports nothing of ours outside storage/';
  }
  if (isUnder(to, 'storage') && to !== 'storage/index.ts')
    return 'outside storage/ only storage/index.ts is for import';
  if (isUnder(from, 'protocols')) {
    const own = from.split('/').slice(0, 2).join('/');
    return to === 'protocols/port.ts' || isUnder(to, own)
      ? undefined
      : 'a protocol imports protocols/port.ts and its own folder only';
  }
  // `[[mapping]]` is checked by the rules' own code, before there is a hub.
  if (from === 'src/config/mappings.ts' && isUnder(to, 'protocols/mqtt/mapping')) return undefined;
  if (isUnder(to, 'protocols') && to !== 'protocols/port.ts' && !COMPOSITION_ROOTS.includes(from)) {
    return `only the composition root (${COMPOSITION_ROOTS.join(', ')}) names a protocol`;
  }
  return undefined;
}

/** Import cycles, types included, each told once as the path around. */
export function cycleComplaints(files: readonly SourceFile[]): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edgesOf(files)) next.set(from, [...(next.get(from) ?? []), to]);
  const complaints: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    const at = trail.indexOf(path);
    if (at >= 0) complaints.push([...trail.slice(at), path].join(' → '));
    if (at >= 0 || done.has(path)) return;
    trail.push(path);
    for (const to of next.get(path) ?? []) visit(to);
    trail.pop();
    done.add(path);
  };
  for (const path of next.keys()) visit(path);
  return complaints;
}

/** The port is a contract: interfaces and types, nothing that runs. */
export function portComplaints(files: readonly SourceFile[]): string[] {
  const port = files.find(({ path }) => path === 'protocols/port.ts');
  if (port === undefined) return ['protocols/port.ts is missing'];
  const runs =
    /^(?:export\s+)?(?:declare\s+)?(?:abstract\s+|async\s+)*(?:const|let|var|function|class|enum|namespace)\b.*/gm;
  return [...blanked(port.text, 'comments').matchAll(runs)].map(
    (match) => `protocols/port.ts has code: ${match[0]}`,
  );
}

/** Each name is imported from where it is made; storage/index.ts alone stands for a folder. */
export function barrelComplaints(files: readonly SourceFile[]): string[] {
  const complaints: string[] = [];
  for (const { path, text } of files.filter((file) => isSource(file.path))) {
    if (path === 'storage/index.ts') continue;
    if (path.endsWith('/index.ts')) complaints.push(`${path}: only storage has an index.ts`);
    for (const { specifier, reExport } of importsOf(text)) {
      if (reExport) complaints.push(`${path} re-exports '${specifier}'`);
    }
  }
  return complaints;
}

const TOOL_CONFIGS = /^[a-z]+\.config\.ts$/;

export function defaultExportComplaints(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => isSource(path) && !TOOL_CONFIGS.test(path))
    .filter(({ text }) =>
      /^export\s+default\b|^export\s*\{[^}]*\bas\s+default\b/m.test(blanked(text, 'comments')),
    )
    .map(({ path }) => `${path} has a default export`);
}

// ---------------------------------------------------------------------------------- files and folders

const LINES_MAX = 400;

/** Kinds of file that are as long as what they list. */
const LONG_BY_NATURE = [/^test\//, /^protocols\/kafka\/messages\//, /^protocols\/port\.ts$/];

export function lengthComplaints(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => isSource(path) && !LONG_BY_NATURE.some((kind) => kind.test(path)))
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ path, lines }) => `${path} has ${lines} lines; the most is ${LINES_MAX}`);
}

/** Names that say where code was put, not what it is. `helpers` is allowed once: test/helpers. */
const EMPTY_WORDS = ['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'managers', 'misc', 'shared'];

export function nameComplaints(files: readonly SourceFile[]): string[] {
  const complaints = new Set<string>();
  for (const { path } of files) {
    const parts = path.split('/');
    parts.forEach((part, depth) => {
      const upToHere = parts.slice(0, depth + 1).join('/');
      const words = part.replace(/\..*$/, '').split('-');
      const empty = words.find((word) => EMPTY_WORDS.includes(word));
      if (empty !== undefined && upToHere !== 'test/helpers')
        complaints.add(`${upToHere}: '${empty}' says nothing`);
    });
    const name = parts.at(-1) as string;
    if (isSource(path) && !/^[a-z0-9-]+(\.(test|config))?\.ts$/.test(name)) {
      complaints.add(`${path}: file names are kebab-case`);
    }
  }
  return [...complaints];
}

const TOP_LEVEL = [
  ...['README.md', 'CHANGELOG.md', 'LICENSE', 'package.json', 'package-lock.json', 'tsconfig.json'],
  ...['config', 'protocols', 'src', 'storage', 'test'],
  ...['tsconfig.build.json', 'esbuild.config.mjs', 'biome.json', 'vitest.config.ts'],
];

export function topLevelComplaints(files: readonly SourceFile[]): string[] {
  const names = new Set(files.map(({ path }) => path.split('/')[0] as string));
  return [...names]
    .filter((name) => !name.startsWith('.') && !TOP_LEVEL.includes(name))
    .map((name) => `${name} does not belong at the top level`);
}

/** A file says what it is before it says anything else. */
export function openingComplaints(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => isSource(path) || /\.(c|h)$/.test(path) || path === '.ci/run')
    .filter(({ text }) => !/^(?:#!.*\n)?(?:\/\/|\/\*|#) ?\S/.test(text))
    .map(({ path }) => `${path} does not start with a comment that says what it is`);
}

/**
 * Every folder of the product has a README.md, or the next README above names it as `folder/`; and every source
 * file stands in the file map of the README that covers it.
 */
export function readmeComplaints(files: readonly SourceFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const complaints = new Set<string>();
  for (const { path } of files) {
    if (!isUnder(path, 'storage', 'protocols', 'src') || !isSource(path)) continue;
    const parts = path.split('/');
    const name = parts.pop() as string;
    const own = texts.get(`${parts.join('/')}/README.md`);
    if (own !== undefined) {
      if (!own.includes(name)) complaints.add(`${parts.join('/')}/README.md does not mention ${name}`);
      continue;
    }
    const folder = parts.join('/');
    const leaf = parts.pop() as string;
    while (parts.length > 0 && !texts.has(`${parts.join('/')}/README.md`)) parts.pop();
    const above = texts.get(`${parts.join('/')}/README.md`);
    if (!above?.includes(`${leaf}/`))
      complaints.add(`${folder} has no README.md, and none above names ${leaf}/`);
  }
  return [...complaints];
}

/** Relative links of Markdown files lead somewhere. */
export function linkComplaints(files: readonly SourceFile[]): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const exists = (target: string): boolean =>
    paths.has(target) || [...paths].some((path) => path.startsWith(`${target.replace(/\/$/, '')}/`));
  const complaints: string[] = [];
  for (const { path, text } of files.filter((file) => file.path.endsWith('.md'))) {
    for (const match of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      const link = (match[1] as string).replace(/#.*$/, '');
      if (link === '' || /^[a-z]+:/.test(link)) continue;
      const target = resolveImport(path, link.startsWith('.') ? link : `./${link}`) as string;
      if (!exists(target)) complaints.push(`${path} links to ${link}, which is not there`);
    }
  }
  return complaints;
}

/** Nothing of one machine or one network stands in the repository: it is to be built anywhere. */
export function placeComplaints(files: readonly SourceFile[]): string[] {
  // Put together from parts, so that this file does not complain about itself.
  const hosts = ['registry', 'repo', 'repo1', 'proxy', 'mirror', 'deb', 'pypi', 'files'].join('|');
  const host = new RegExp(`\\b(?:https?:)?//(?:${hosts})\\.[a-z0-9.-]+`, 'g');
  const homes = ['home', 'root', 'Users', 'workspace'].join('|');
  const place = new RegExp(`(?<![\\w.$}~/-])/(?:${homes})/[\\w.-]+`, 'g');
  const complaints: string[] = [];
  for (const { path, text } of files) {
    if (path === 'LICENSE') continue;
    for (const pattern of [host, place]) {
      for (const match of text.matchAll(pattern)) complaints.push(`${path} names a place: ${match[0]}`);
    }
  }
  return complaints;
}

/** The product imports what package.json says it needs, and the README says of each why. */
export function dependencyComplaints(files: readonly SourceFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const { dependencies = {} } = JSON.parse(texts.get('package.json') ?? '{}') as {
    dependencies?: Record<string, string>;
  };
  const complaints: string[] = [];
  for (const name of Object.keys(dependencies)) {
    if (!texts.get('README.md')?.includes(`\`${name}\``))
      complaints.push(`README.md does not say why ${name}`);
  }
  for (const { path, text } of files) {
    if (!isUnder(path, 'storage', 'protocols', 'src') || !isSource(path)) continue;
    for (const { specifier } of importsOf(text)) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
      const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
      if (!(name in dependencies)) complaints.push(`${path} imports ${name}, which is no runtime dependency`);
    }
  }
  return complaints;
}

/** `.npmrc` says `ignore-scripts`, so that no package runs code when it is installed; npm then skips our hooks as well. */
export function scriptComplaints(files: readonly SourceFile[]): string[] {
  const text = files.find(({ path }) => path === 'package.json')?.text ?? '{}';
  const { scripts = {} } = JSON.parse(text) as { scripts?: Record<string, string> };
  return Object.keys(scripts)
    .filter((name) => /^(?:pre|post)./.test(name))
    .map((name) => `package.json has the script ${name}, which npm does not run here`);
}

// --------------------------------------------------------------------------------------------- tests

/** Nothing is left out of a run without saying why in its title; nothing is singled out. */
export function skippedTestComplaints(files: readonly SourceFile[]): string[] {
  const complaints: string[] = [];
  const call =
    /\b(?:it|test|describe|bench)(?:\.\w+)*\.(skip|only|todo|skipIf|runIf|fails)\b(?:\([^\n]*?\))?\(\s*['"`]/g;
  for (const { path, text } of files.filter((file) => isUnder(file.path, 'test') && isSource(file.path))) {
    for (const match of blanked(text, 'comments and strings').matchAll(call)) {
      const title = text.slice(match.index + match[0].length).replace(/['"`][\s\S]*$/, '');
      const reasoned = match[1] !== 'only' && /\b(because|until|needs|unless)\b/.test(title);
      if (!reasoned) complaints.push(`${path}: .${match[1]} on '${title}' without a reason in the title`);
    }
  }
  return complaints;
}

/** A test waits for what it is about; a pause of a guessed length is too short here and too long there. */
export function sleepComplaints(files: readonly SourceFile[]): string[] {
  const sleep = /setTimeout\(\s*(?:resolve|done|\(\) => resolve\(\))\s*,\s*\d/;
  return files
    .filter(({ path }) => path.startsWith('test/') && path.endsWith('.test.ts'))
    .filter(
      ({ text }) =>
        sleep.test(blanked(text, 'comments and strings')) ||
        importsOf(text).some(({ specifier }) => specifier === 'node:timers/promises'),
    )
    .map(({ path }) => `${path} sleeps`);
}
