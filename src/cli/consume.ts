// `polylog consume`: records of a topic as lines. A range is what the log holds when the command begins: it ends there, or
// goes on with `--follow`. With `--group` it goes on where the group is, and commits what has been printed.
import { Argument, InvalidArgumentError, Option } from 'commander';
import { type AdminClient, AdminFailure, type AdminOptions } from './admin-client.ts';
import { addVerb, asks, type CommandLine, part, query } from './noun.ts';
import { Progress } from './progress.ts';
import { parseRange, type Range } from './range.ts';
import { recordPrinter } from './record-printer.ts';
import { EXIT, type Surroundings } from './surroundings.ts';
import { countNumber } from './topics.ts';

interface ConsumeOptions extends AdminOptions {
  readonly group?: string;
  readonly follow?: boolean;
  readonly limit?: number;
  readonly key: Form;
  readonly value: Form;
  readonly format?: string;
  readonly match?: string;
  readonly contains?: string;
  readonly uncommitted?: boolean;
}

const FORMS = ['text', 'json', 'base64', 'hex'] as const;
type Form = (typeof FORMS)[number];

/** What the API is asked for; without a word of its own it shows text where bytes are UTF-8, and base64 where not. */
const ENCODINGS: Readonly<Record<Form, string | undefined>> = {
  text: undefined,
  json: 'json',
  base64: 'base64',
  hex: 'base64',
};

interface End {
  readonly records: number;
  readonly next: string | null;
  readonly error?: { readonly message: string };
}

const EXAMPLES = `
Examples:
  polylog consume orders                        all that is in it now
  polylog consume orders -10                    the last ten of each partition
  polylog consume orders:3 100:200              offsets 100 to 199 of partition 3
  polylog consume orders @-1h:end               of the last hour
  polylog consume orders @2026-01-01:+50        fifty records from then on
  polylog consume orders end --follow           what comes from now on, until Ctrl-C
  polylog consume orders --value json | jq .value.price
  polylog consume orders --group billing        goes on where the group is, and commits what was printed
  polylog consume orders --format '%p %o %k %v'

One JSON object a line. In --format: %t topic, %p partition, %o offset, %T timestamp, %k key, %v value, %h headers, %%.
`;

export function addConsumeCommand(line: CommandLine): void {
  const command = addVerb(line.program, 'consume', 'records of a topic, a line each', EXAMPLES);
  // Taken, as everywhere, but there is one form: lines of JSON, unless --format says another.
  command.options.find(({ long }) => long === '--output')?.hideHelp();
  command
    .argument('<topic[:partition]>')
    .addArgument(
      new Argument('[range]', 'from:to; start, end, 100, -10, @-1h, @2026-01-01, :+50')
        .argParser(range)
        .default({ from: 'start' }, 'start'),
    )
    .option('--group <group>', 'go on where it is, and commit what was printed; it must have no members')
    .option('--follow', 'go on with what comes')
    .option('--limit <records>', 'stop after so many', countNumber)
    .option('--match <key>', 'only records with exactly this key')
    .option('--contains <text>', 'only records with this text in key or value')
    .option('--uncommitted', 'records of open and aborted transactions too')
    .addOption(new Option('--key <form>', 'how keys are shown').choices(FORMS).default('text'))
    .addOption(new Option('--value <form>', 'how values are shown').choices(FORMS).default('text'))
    .option('--format <text>', 'another line than JSON')
    .action(
      asks(line, async (admin, options: ConsumeOptions, place: string, from: Range) => {
        const consumer = new Consumer(admin, options, place, line.surroundings);
        await consumer.run(from).catch(inWordsOfCommand);
      }),
    );
}

/** The API calls by name what here is the range's beginning and end. */
function inWordsOfCommand(error: unknown): never {
  if (!(error instanceof AdminFailure) || (error.field !== 'from' && error.field !== 'to')) throw error;
  throw new AdminFailure(error.message.replace(/^(?:from|to): /, 'range: '), error.exitCode);
}

function range(text: string): Range {
  const parsed = parseRange(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It must be from:to, such as 100:200, -10, @-1h:end or start:+50.');
  return parsed;
}

class Consumer {
  readonly #admin: AdminClient;
  readonly #options: ConsumeOptions;
  readonly #surroundings: Surroundings;
  readonly #topic: string;
  readonly #partition: string | undefined;
  readonly #print: (line: string) => string;
  readonly #progress: Progress;
  #left: number;
  #printed = 0;
  #isRead = true;

  constructor(admin: AdminClient, options: ConsumeOptions, place: string, surroundings: Surroundings) {
    const colon = place.lastIndexOf(':');
    this.#admin = admin;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#topic = colon < 0 ? place : place.slice(0, colon);
    this.#partition = colon < 0 ? undefined : place.slice(colon + 1);
    this.#print = recordPrinter(options);
    // On a terminal the records themselves show how far it is.
    this.#progress = new Progress(surroundings.columns === undefined ? surroundings : {});
    this.#left = options.limit ?? Number.POSITIVE_INFINITY;
  }

  async run(asked: Range): Promise<void> {
    this.#left = Math.min(this.#left, asked.limit ?? Number.POSITIVE_INFINITY);
    try {
      if (this.#options.group !== undefined) await this.#consumeAs(this.#options.group, asked);
      else if (this.#options.follow === true) await this.#follow(asked.from);
      else await this.#read(this.#partition, asked);
    } finally {
      this.#progress.end();
    }
    // Ctrl-C is how a follower ends; of a range it leaves a part, which is not what was asked for.
    if (this.#isInterrupted && this.#options.follow !== true)
      throw new AdminFailure(`interrupted after ${this.#printed} records`, EXIT.failed);
  }

  get #isInterrupted(): boolean {
    return this.#surroundings.interrupted?.aborted === true;
  }

  /** Partition by partition: each has its own place in the group. */
  async #consumeAs(group: string, { from, to }: Range): Promise<void> {
    if (this.#options.follow === true)
      throw new AdminFailure('--group reads to the end and stops: leave out --follow', EXIT.wrongUsage);
    const committed = await this.#committedBy(group);
    for (const partition of await this.#partitions()) {
      if (this.#left <= 0 || !this.#isRead || this.#isInterrupted) return;
      const place = committed.get(partition);
      const begin = place === undefined ? from : String(place);
      const next = await this.#read(String(partition), { from: begin, ...(to === undefined ? {} : { to }) });
      if (next === undefined || next === place) continue;
      // What a full disk did not take was not printed.
      if (this.#isRead && (await this.#surroundings.taken?.()) === false) return;
      await this.#commit(group, partition, next);
    }
  }

  async #partitions(): Promise<readonly number[]> {
    if (this.#partition !== undefined) return [Number(this.#partition)];
    const { partitions } = await this.#admin.ask<{ partitions: number }>('GET', this.#path);
    return Array.from({ length: partitions }, (_, partition) => partition);
  }

  async #committedBy(group: string): Promise<ReadonlyMap<number, number>> {
    interface Place {
      readonly topic: string;
      readonly partition: number;
      readonly committed: number | null;
    }
    const path = `/api/v1/groups/${part(group)}/offsets`;
    const { partitions } = await this.#admin
      .ask<{ readonly partitions: readonly Place[] }>('GET', path)
      .catch((error: unknown) => {
        // Its first commit makes it.
        if (error instanceof AdminFailure && error.code === 'not_found') return { partitions: [] };
        throw error;
      });
    const own = partitions.filter(({ topic }) => topic === this.#topic);
    return new Map(
      own.flatMap(({ partition, committed }) => (committed === null ? [] : [[partition, committed]])),
    );
  }

  async #commit(group: string, partition: number, offset: number): Promise<void> {
    const body = { to: `offset:${offset}`, partitions: [{ topic: this.#topic, partition }] };
    await this.#admin.ask('POST', `/api/v1/groups/${part(group)}/offsets:reset`, { body });
  }

  /** @returns one past the last offset that was printed, of the partition that was read last */
  async #read(partition: string | undefined, { from, to }: Range): Promise<number | undefined> {
    let nextOffset: number | undefined;
    let cursor: string | undefined;
    do {
      const limit = Number.isFinite(this.#left) ? this.#left : undefined;
      const place = cursor === undefined ? { from, to, partition } : { cursor };
      let end: End | undefined;
      for await (const text of this.#lines(`records${query({ ...place, limit, ...this.#filter })}`)) {
        end = endOf(text);
        if (end !== undefined) continue;
        this.#isRead = await this.#surroundings.outMuch(this.#print(text));
        if (!this.#isRead) return nextOffset;
        this.#left--;
        this.#printed++;
        nextOffset = offsetOf(text) + 1;
        if (this.#isInterrupted) return nextOffset;
        this.#progress.at(() => `${this.#printed} records`);
      }
      if (end === undefined) {
        if (this.#isInterrupted) return nextOffset;
        throw new AdminFailure('the answer ended before its end', EXIT.failed);
      }
      if (end.error !== undefined) throw new AdminFailure(end.error.message, EXIT.failed);
      cursor = end.next ?? undefined;
    } while (cursor !== undefined && this.#left > 0);
    return nextOffset;
  }

  async #follow(from: string): Promise<void> {
    const asked = { from, partition: this.#partition, overflow: 'wait', ...this.#filter };
    let event = '';
    for await (const text of this.#lines(`tail${query(asked)}`)) {
      if (text.startsWith('event: ')) event = text.slice('event: '.length);
      else if (text.startsWith('data: ')) {
        const data = text.slice('data: '.length);
        if (event === 'record') {
          if (!(await this.#surroundings.outMuch(this.#print(data))) || --this.#left <= 0) return;
        } else if (event !== 'start' && event !== 'position') this.#surroundings.err(`${event}: ${data}\n`);
      }
    }
  }

  #lines(path: string): AsyncGenerator<string> {
    // A read takes as long as it takes; an interrupt ends it.
    const signal = this.#surroundings.interrupted ?? new AbortController().signal;
    return this.#admin.lines(`${this.#path}/${path}`, { signal });
  }

  get #path(): string {
    return `/api/v1/topics/${part(this.#topic)}`;
  }

  get #filter(): Readonly<Record<string, string | undefined>> {
    const { match, contains, uncommitted, key, value } = this.#options;
    return {
      ...{ key: match, contains, isolation: uncommitted === true ? 'read_uncommitted' : undefined },
      ...{ keyEncoding: match === undefined ? ENCODINGS[key] : undefined, valueEncoding: ENCODINGS[value] },
    };
  }
}

/** The last line of an answer says where to go on. */
function endOf(text: string): End | undefined {
  return text.startsWith('{"end":') ? (JSON.parse(text) as { readonly end: End }).end : undefined;
}

/** Before any value, so that nothing of a client's can be taken for it. */
function offsetOf(text: string): number {
  return Number(/"offset":(\d+)/.exec(text)?.[1]);
}
