// What the commands of a noun (`polylog topics list`) have in common: how they are added, and how answers are printed.
import type { Command } from 'commander';
import { type AdminClient, type AdminOptions, addAdminOptions, withAdmin } from './admin-client.ts';
import type { Surroundings } from './surroundings.ts';
import { type Cell, table } from './table.ts';

export interface CommandLine {
  readonly program: Command;
  readonly surroundings: Surroundings;
  finish(exitCode: number): void;
}

const EXIT_CODES = '\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 the hub cannot be reached.\n';

export function addNoun(
  { program }: CommandLine,
  name: string,
  description: string,
  examples: string,
): Command {
  return program
    .command(name)
    .description(description)
    .addHelpText('after', examples + EXIT_CODES)
    .exitOverride();
}

/**
 * A verb of a noun, or a command that has none.
 * @param examples lines behind `polylog`, or the text as help shows it
 */
export function addVerb(
  parent: Command,
  name: string,
  description: string,
  examples: string | readonly string[],
): Command {
  const text =
    typeof examples === 'string'
      ? examples
      : ['\nExamples:', ...examples.map((line) => `  polylog ${line}`), ''].join('\n');
  return addAdminOptions(parent.command(name))
    .description(description)
    .addHelpText('after', text + EXIT_CODES);
}

/** What commander calls: the arguments that the command has, then its options. */
export function asks<Arguments extends readonly unknown[], Options extends AdminOptions>(
  { surroundings, finish }: CommandLine,
  run: (admin: AdminClient, options: Options, ...given: Arguments) => Promise<void>,
): (...given: [...Arguments, Options, Command]) => Promise<void> {
  return async (...given) => {
    const options = given.at(-2) as Options; // commander gives the command itself last
    const own = given.slice(0, -2) as unknown as Arguments;
    finish(await withAdmin(options, surroundings, (admin) => run(admin, options, ...own)));
  };
}

/** A verb `list`, whose items may be searched by name. */
export function addList<Item>(
  line: CommandLine,
  noun: Command,
  list: {
    readonly description: string;
    /** What `--search` says of itself. */
    readonly searched: string;
    /** Of an item in JSON: its name. */
    readonly nameMember: string;
    readonly path: string;
    readonly headings: readonly string[];
    cellsOf(item: Item): readonly Cell[];
  },
): void {
  const name = noun.name();
  addVerb(noun, 'list', list.description, [
    `${name} list`,
    `${name} list --search plant`,
    `${name} list --output json | jq -r .${list.nameMember}`,
  ])
    .option('--search <text>', list.searched)
    .action(
      asks(line, (admin, options: AdminOptions & { readonly search?: string }) =>
        printItems(
          line.surroundings,
          options,
          admin.items<Item>(`${list.path}${query({ search: options.search })}`),
          list.headings,
          list.cellsOf,
        ),
      ),
    );
}

/** A verb that ends something: what it names is gone, and is said to be. */
export function addRemoval(
  line: CommandLine,
  noun: Command,
  removal: {
    readonly verb: string;
    readonly description: string;
    readonly argument: string;
    readonly example: string;
    /** Of the answer in JSON. */
    readonly done: 'deleted' | 'disconnected';
    pathOf(name: string): string;
    wording(name: string): string;
  },
): void {
  addVerb(noun, removal.verb, removal.description, [
    `${noun.name()} ${removal.verb} ${removal.example}`,
    `${noun.name()} ${removal.verb} ${removal.example} --output json`,
  ])
    .argument(removal.argument)
    .action(
      asks(line, async (admin, options: AdminOptions, name: string) => {
        await admin.ask('DELETE', removal.pathOf(name));
        const answer = { [removal.done]: name };
        print(line.surroundings, options, answer, () => `${removal.wording(name)}\n`);
      }),
    );
}

/** All items: a table, or an object a line as they come. */
export async function printItems<Item>(
  surroundings: Surroundings,
  { output }: AdminOptions,
  items: AsyncIterable<Item> | Iterable<Item>,
  headings: readonly string[],
  cellsOf: (item: Item) => readonly Cell[],
): Promise<void> {
  const rows: (readonly Cell[])[] = [];
  for await (const item of items) {
    if (output === 'table') rows.push(cellsOf(item));
    else if (!(await surroundings.outMuch(`${JSON.stringify(item)}\n`))) return;
  }
  if (output === 'table') surroundings.out(table(headings, rows, surroundings.columns));
}

/** One answer: as JSON, or as the command words it. */
export function print<Answer>(
  surroundings: Surroundings,
  { output }: AdminOptions,
  answer: Answer,
  wording: (answer: Answer, columns: number | undefined) => string,
): void {
  const text = output === 'json' ? `${JSON.stringify(answer)}\n` : wording(answer, surroundings.columns);
  surroundings.out(text);
}

/** A name in a path. */
export const part = (name: string): string => encodeURIComponent(name);

export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

export const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function size(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}
