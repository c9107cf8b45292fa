// `polylog topics list·create·describe·alter·delete·add-partitions` and `polylog offsets`.
import { InvalidArgumentError } from 'commander';
import { AdminFailure, type AdminOptions } from './admin-client.ts';
import {
  addList,
  addNoun,
  addRemoval,
  addVerb,
  asks,
  type CommandLine,
  part,
  print,
  query,
  size,
  time,
} from './noun.ts';
import { EXIT } from './surroundings.ts';
import { table } from './table.ts';

interface TopicItem {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: number;
  readonly internal: boolean;
  readonly declared: boolean;
  readonly cleanupPolicy: string;
  readonly bytes: number;
  readonly segments: number;
  readonly records: number;
}

interface Topic extends TopicItem {
  readonly config: readonly { readonly name: string; readonly value: string; readonly source: string }[];
}

const EXAMPLES = `
Examples:
  polylog topics list
  polylog topics list --output json | jq -r 'select(.internal | not) | .topic'
  polylog topics create orders --partitions 12 --config retention.ms=604800000
  polylog topics alter orders --config retention.ms=86400000 --unset max.message.bytes
  polylog topics add-partitions orders 24
  polylog topics delete orders

A topic that the configuration file declares is changed there; here the answer names file and line.
`;

export function addTopicCommands(line: CommandLine): void {
  const { surroundings } = line;
  const topics = addNoun(line, 'topics', 'topics of a running hub', EXAMPLES);

  addList<TopicItem>(line, topics, {
    description: 'each topic, with what is in it',
    searched: 'only names that hold it',
    nameMember: 'topic',
    path: '/api/v1/topics',
    headings: HEADINGS,
    cellsOf,
  });

  addVerb(topics, 'describe', 'one topic with its configuration', [
    'topics describe orders',
    'topics describe orders --output json | jq -r \'.config[] | select(.source == "topic").name\'',
  ])
    .argument('<topic>')
    .action(
      asks(line, async (admin, options: AdminOptions, name: string) =>
        print(surroundings, options, await admin.ask<Topic>('GET', pathOf(name)), wordingOf),
      ),
    );

  addVerb(topics, 'create', 'make a topic', [
    'topics create orders',
    'topics create orders --partitions 12 --config retention.ms=604800000 --config cleanup.policy=compact',
  ])
    .argument('<topic>')
    .option('--partitions <number>', 'default: what the hub is configured with', wholeNumber)
    .option('--config <name=value>', "one of Kafka's topic configs; may be repeated", addEntry)
    .action(
      asks(line, async (admin, options: CreateOptions, topic: string) => {
        const { partitions, config = {} } = options;
        const body = { topic, ...(partitions === undefined ? {} : { partitions }), config };
        const answer = await admin.ask<Topic>('POST', '/api/v1/topics', { body });
        print(surroundings, options, answer, changedWording(Object.keys(config)));
      }),
    );

  addVerb(topics, 'alter', 'change entries of its configuration', [
    'topics alter orders --config retention.ms=86400000',
    'topics alter orders --unset retention.ms --unset max.message.bytes',
  ])
    .argument('<topic>')
    .option('--config <name=value>', 'set an entry; may be repeated', addEntry)
    .option('--unset <name>', 'let the hub say again; may be repeated', addUnset)
    .action(
      asks(line, async (admin, options: AlterOptions, name: string) => {
        const config = { ...options.config, ...options.unset };
        if (Object.keys(config).length === 0)
          throw new AdminFailure('nothing to change: say --config or --unset', EXIT.wrongUsage);
        const answer = await admin.ask<Topic>('PATCH', pathOf(name), { body: { config } });
        print(surroundings, options, answer, changedWording(Object.keys(config)));
      }),
    );

  addVerb(topics, 'add-partitions', 'let it have more partitions', ['topics add-partitions orders 24'])
    .argument('<topic>')
    .argument('<count>', 'how many there are then', wholeNumber)
    .action(
      asks(line, async (admin, options: AdminOptions, name: string, count: number) => {
        const answer = await admin.ask<Topic>('POST', `${pathOf(name)}/partitions`, { body: { count } });
        print(surroundings, options, answer, changedWording([]));
      }),
    );

  addRemoval(line, topics, {
    verb: 'delete',
    description: 'delete a topic and its records',
    argument: '<topic>',
    example: 'orders',
    done: 'deleted',
    pathOf,
    wording: (topic) => `${topic} is deleted`,
  });
}

interface CreateOptions extends AdminOptions {
  readonly partitions?: number;
  readonly config?: Readonly<Record<string, string>>;
}

interface AlterOptions extends AdminOptions {
  readonly config?: Readonly<Record<string, string>>;
  readonly unset?: Readonly<Record<string, null>>;
}

interface Offsets {
  readonly partitions: readonly {
    readonly partition: number;
    readonly logStart: number;
    readonly logEnd: number;
    readonly highWatermark: number;
    readonly lastStable: number;
    readonly bytes: number;
    readonly at: readonly {
      readonly query: string;
      readonly offset: number;
      readonly recordTimestampMs: number | null;
      readonly reason: string;
    }[];
  }[];
}

const OFFSET_EXAMPLES = `
Examples:
  polylog offsets telemetry
  polylog offsets telemetry --at earliest,latest,max-timestamp,-1h
  polylog offsets telemetry --at 2026-09-01T00:00:00Z --partition 3,4

Each partition's ends, and for each --at the first offset at or after that time ("end": there is none yet). A bare number
is milliseconds since the epoch.
`;

export function addOffsetsCommand(line: CommandLine): void {
  addVerb(line.program, 'offsets', 'ends of the log, and offsets by time', OFFSET_EXAMPLES)
    .argument('<topic>')
    .option('--at <times>', 'earliest, latest, max-timestamp, -1h, RFC 3339, milliseconds; with commas')
    .option('--partition <numbers>', 'only these, with commas')
    .action(
      asks(line, async (admin, options: AdminOptions & { at?: string; partition?: string }, name: string) => {
        const { at, partition } = options;
        const answer = await admin.ask<Offsets>('GET', `${pathOf(name)}/offsets${query({ at, partition })}`);
        print(line.surroundings, options, answer, offsetsTable);
      }),
    );
}

function offsetsTable({ partitions }: Offsets, columns?: number): string {
  const asked = partitions[0]?.at.map((each) => each.query.toUpperCase()) ?? [];
  const rows = partitions.map((each) => [
    ...[each.partition, each.logStart, each.logEnd, each.highWatermark, each.lastStable, size(each.bytes)],
    ...each.at.map(({ offset, reason, recordTimestampMs }) => {
      if (reason === 'end') return `${offset} (end)`;
      return recordTimestampMs === null ? offset : `${offset} (${time(recordTimestampMs)})`;
    }),
  ]);
  return table(['PARTITION', 'START', 'END', 'HIGH WATERMARK', 'STABLE', 'SIZE', ...asked], rows, columns);
}

const pathOf = (topic: string): string => `/api/v1/topics/${part(topic)}`;

const HEADINGS = ['TOPIC', 'PARTITIONS', 'RECORDS', 'SIZE', 'POLICY', 'OF'];

function cellsOf(item: TopicItem) {
  const { topic, partitions, records, bytes, cleanupPolicy, internal, declared } = item;
  const of = internal ? 'the hub' : declared ? 'the file' : null;
  return [topic, partitions, records, size(bytes), cleanupPolicy, of];
}

function wordingOf(topic: Topic, columns?: number): string {
  const config = topic.config.map(({ name, value, source }) => [name, value, source]);
  const head = table(HEADINGS, [cellsOf(topic)], columns);
  return config.length === 0 ? head : `${head}\n${table(['CONFIG', 'VALUE', 'FROM'], config, columns)}`;
}

/** The topic, and of its configuration what was just said. */
function changedWording(names: readonly string[]) {
  return (topic: Topic, columns?: number): string =>
    wordingOf({ ...topic, config: topic.config.filter(({ name }) => names.includes(name)) }, columns);
}

/** Of something that there is at least one of. */
export function countNumber(text: string): number {
  const count = wholeNumber(text);
  if (count === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return count;
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function addEntry(text: string, before: Readonly<Record<string, string>> | undefined) {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

function addUnset(name: string, before: Readonly<Record<string, null>> | undefined) {
  return { ...before, [name]: null };
}
