// `polylog produce`: lines of the standard input to records. What has come goes out together; each part is on disk before
// the next is sent, so that an end in between leaves whole lines and their order.
import { InvalidArgumentError } from 'commander';
import { type AdminClient, AdminFailure, type AdminOptions } from './admin-client.ts';
import { addVerb, asks, type CommandLine, part, print } from './noun.ts';
import { Progress } from './progress.ts';
import { EXIT, type Surroundings } from './surroundings.ts';
import { textLines } from './text-lines.ts';
import { wholeNumber } from './topics.ts';

interface ProduceOptions extends AdminOptions {
  readonly key?: string;
  readonly header?: readonly Header[];
  readonly partition?: number;
  readonly json?: boolean;
}

interface Header {
  readonly name: string;
  readonly value: string;
}

interface Appended {
  readonly records: readonly {
    readonly partition: number;
    readonly offset?: number;
    readonly error?: { readonly message: string };
  }[];
}

/** Lines of one request, and their characters: well below what the API takes in one body. */
const LINES_MAX = 5_000;
const CHARACTERS_MAX = 512 * 1024;

const EXAMPLES = `
Examples:
  echo hello | polylog produce greetings
  polylog produce orders --key 17 --header source=import < lines.txt
  polylog consume orders | polylog produce orders-copy --json

Each line is a value; it ends with LF or with CR LF, neither of which is part of it. With --json each is a record as
polylog consume prints it: key, value, headers, partition. So a value with a line end in it, or bytes, go by --json.
What has come is sent at once: Ctrl-C leaves whole records in their order, and says how many.
`;

export function addProduceCommand(line: CommandLine): void {
  addVerb(line.program, 'produce', 'append lines of the standard input, a record each', EXAMPLES)
    .argument('<topic>')
    .option('--key <key>', 'of every record')
    .option('--header <name=value>', 'of every record; may be repeated', addHeader)
    .option('--partition <number>', 'default: that of the key', wholeNumber)
    .option('--json', 'lines are records in JSON')
    .action(
      asks(line, async (admin, options: ProduceOptions, topic: string) => {
        const producer = new Producer(admin, options, topic);
        await producer.run(line.surroundings);
        print(line.surroundings, options, producer.summary, ({ records }) => `${recordsOf(records)}\n`);
      }),
    );
}

class Producer {
  readonly #admin: AdminClient;
  readonly #options: ProduceOptions;
  readonly #topic: string;
  #records = 0;
  #lines = 0;
  readonly #last = new Map<number, number>();

  constructor(admin: AdminClient, options: ProduceOptions, topic: string) {
    this.#admin = admin;
    this.#options = options;
    this.#topic = topic;
  }

  get summary() {
    const partitions = [...this.#last].map(([partition, lastOffset]) => ({ partition, lastOffset }));
    return { topic: this.#topic, records: this.#records, partitions };
  }

  async run(surroundings: Surroundings): Promise<void> {
    const { interrupted } = surroundings;
    const progress = new Progress(surroundings.isTyped === true ? {} : surroundings);
    try {
      for await (const lines of textLines(surroundings)) {
        for (const part of partsOf(lines)) {
          if (interrupted?.aborted === true) break;
          await this.#send(part);
          progress.at(() => recordsOf(this.#records));
        }
      }
    } finally {
      progress.end();
    }
    if (interrupted?.aborted === true)
      throw new AdminFailure(`interrupted after ${recordsOf(this.#records)}`, EXIT.failed);
  }

  async #send(lines: readonly string[]): Promise<void> {
    const { json } = this.#options;
    const first = this.#lines + 1;
    this.#lines += lines.length;
    const numbers = lines.flatMap((line, at) => (json === true && line.trim() === '' ? [] : [first + at]));
    if (numbers.length === 0) return;
    const records = numbers.map((number) => {
      const line = lines[number - first] ?? '';
      return json === true ? line : this.#recordOf(line);
    });
    const path = `/api/v1/topics/${part(this.#topic)}/records`;
    const body = records.map((record) => `${record}\n`).join('');
    const request = { body, contentType: 'application/x-ndjson' };
    const answer = await this.#admin.ask<Appended>('POST', path, request).catch((error) => {
      throw error instanceof AdminFailure ? this.#withLine(error, numbers) : error;
    });
    for (const { partition, offset, error } of answer.records) {
      if (error !== undefined || offset === undefined) {
        const told = error?.message ?? 'a record was not appended';
        throw new AdminFailure(`after ${recordsOf(this.#records)}: ${told}`, EXIT.failed);
      }
      this.#records++;
      this.#last.set(partition, offset);
    }
  }

  /** The API names a record by its place in the request, where it names one. */
  #withLine({ message, exitCode, field }: AdminFailure, numbers: readonly number[]): AdminFailure {
    const told = message.replace(/^records\.(\d+)(\.[^:]+)?: /, (_all, at: string, member = '') => {
      const name = member === '' ? '' : `${member.slice(1)}: `;
      return `line ${numbers[Number(at)]}: ${name}`;
    });
    const done = this.#records === 0 ? '' : `after ${recordsOf(this.#records)}: `;
    // What is wrong with a line is no wrong usage: the command is as it should be.
    const isOfLine = field?.startsWith('records.') === true || field === 'body';
    return new AdminFailure(`${done}${told}`, isOfLine ? EXIT.failed : exitCode);
  }

  readonly #recordOf = (value: string): string => {
    const { key, header: headers, partition } = this.#options;
    return JSON.stringify({ key, value, headers, partition });
  };
}

/** As many lines as go together. */
function* partsOf(lines: readonly string[]): Generator<readonly string[]> {
  let start = 0;
  let characters = 0;
  for (const [at, line] of lines.entries()) {
    characters += line.length;
    if (at + 1 - start < LINES_MAX && characters < CHARACTERS_MAX) continue;
    yield lines.slice(start, at + 1);
    start = at + 1;
    characters = 0;
  }
  if (start < lines.length) yield lines.slice(start);
}

function recordsOf(count: number): string {
  return `${count} ${count === 1 ? 'record' : 'records'}`;
}

function addHeader(text: string, before: readonly Header[] = []): readonly Header[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value.');
  return [...before, { name: text.slice(0, at), value: text.slice(at + 1) }];
}
