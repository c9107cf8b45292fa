// `polylog clients`, `polylog sessions`, `polylog retained` and `polylog mapping`: what there is of MQTT in a running hub.
import type { AdminOptions } from './admin-client.ts';
import { consumedTable } from './groups.ts';
import {
  addList,
  addNoun,
  addRemoval,
  addVerb,
  asks,
  type CommandLine,
  part,
  print,
  printItems,
  query,
  size,
  time,
} from './noun.ts';
import { type Cell, table } from './table.ts';

interface Subscription {
  readonly filter: string;
  readonly qos: number;
}

interface ClientItem {
  readonly clientId: string;
  readonly listener: string;
  readonly remoteAddress: string;
  readonly protocolVersion: string;
  readonly connectedAtMs: number;
  readonly subscriptions: number;
  readonly inflight: number;
}

interface SessionItem {
  readonly clientId: string;
  readonly connected: boolean;
  readonly expiresAtMs: number | null;
  readonly subscriptions: number;
  readonly inflight: number;
}

interface Session extends SessionItem {
  readonly filters: readonly Subscription[];
  readonly partitions: Parameters<typeof consumedTable>[0];
}

interface RetainedItem {
  readonly topic: string;
  readonly qos: number;
  readonly bytes: number;
  readonly timestampMs: number;
  readonly expiresAtMs: number | null;
  readonly value: string;
}

export function addMqttCommands(line: CommandLine): void {
  addClientCommands(line);
  addSessionCommands(line);
  addRetainedCommands(line);
  addMappingCommands(line);
}

const CLIENT_EXAMPLES = `
Examples:
  polylog clients list
  polylog clients show boiler-7
  polylog clients kick boiler-7        disconnects it (0x98); its session stays
`;

function addClientCommands(line: CommandLine): void {
  const { surroundings } = line;
  const clients = addNoun(line, 'clients', 'MQTT clients that are connected', CLIENT_EXAMPLES);
  addList<ClientItem>(line, clients, {
    description: 'each client with its connection',
    searched: 'only identifiers that hold it',
    nameMember: 'clientId',
    path: '/api/v1/mqtt/clients',
    headings: CLIENT_HEADINGS,
    cellsOf: clientCells,
  });
  addVerb(clients, 'show', 'one client and its subscriptions', [
    'clients show boiler-7',
    "clients show boiler-7 --output json | jq -r '.filters[].filter'",
  ])
    .argument('<client>')
    .action(
      asks(line, async (admin, options: AdminOptions, id: string) => {
        type Client = ClientItem & { readonly filters: readonly Subscription[] };
        const answer = await admin.ask<Client>('GET', `/api/v1/mqtt/clients/${part(id)}`);
        print(surroundings, options, answer, (client, columns) =>
          table(CLIENT_HEADINGS, [clientCells(client)], columns).concat(
            '\n',
            filterTable(client.filters, columns),
          ),
        );
      }),
    );
  addRemoval(line, clients, {
    verb: 'kick',
    description: 'disconnect a client',
    argument: '<client>',
    example: 'boiler-7',
    done: 'disconnected',
    pathOf: (id) => `/api/v1/mqtt/clients/${part(id)}`,
    wording: (id) => `${id} is disconnected`,
  });
}

const SESSION_EXAMPLES = `
Examples:
  polylog sessions list
  polylog sessions show boiler-7       its subscriptions, and how far it is behind in each partition
  polylog sessions delete boiler-7     what waits for it is not delivered any more
`;

function addSessionCommands(line: CommandLine): void {
  const { surroundings } = line;
  const sessions = addNoun(
    line,
    'sessions',
    'MQTT sessions that outlive their connections',
    SESSION_EXAMPLES,
  );
  addList<SessionItem>(line, sessions, {
    description: 'each session',
    searched: 'only identifiers that hold it',
    nameMember: 'clientId',
    path: '/api/v1/mqtt/sessions',
    headings: SESSION_HEADINGS,
    cellsOf: sessionCells,
  });
  addVerb(sessions, 'show', 'one session: subscriptions and positions', [
    'sessions show boiler-7',
    "sessions show boiler-7 --output json | jq '[.partitions[].lag] | add'",
  ])
    .argument('<client>')
    .action(
      asks(line, async (admin, options: AdminOptions, id: string) => {
        const answer = await admin.ask<Session>('GET', `/api/v1/mqtt/sessions/${part(id)}`);
        print(surroundings, options, answer, (session, columns) =>
          [
            table(SESSION_HEADINGS, [sessionCells(session)], columns),
            filterTable(session.filters, columns),
            consumedTable(session.partitions, columns),
          ].join('\n'),
        );
      }),
    );
  addRemoval(line, sessions, {
    verb: 'delete',
    description: 'end a session, and the connection of its client',
    argument: '<client>',
    example: 'boiler-7',
    done: 'deleted',
    pathOf: (id) => `/api/v1/mqtt/sessions/${part(id)}`,
    wording: (id) => `the session of ${id} is deleted`,
  });
}

const RETAINED_EXAMPLES = `
Examples:
  polylog retained list
  polylog retained list 'plant/+/temp' --output json | jq -r .value
  polylog retained clear 'plant/7/#'
`;

function addRetainedCommands(line: CommandLine): void {
  const { surroundings } = line;
  const retained = addNoun(line, 'retained', 'retained MQTT messages', RETAINED_EXAMPLES);
  addVerb(retained, 'list', 'each retained message that matches', [
    'retained list',
    "retained list 'plant/+/temp' --output json | jq -r .value",
  ])
    .argument('[filter]', 'topic filter', '#')
    .action(
      asks(line, (admin, options: AdminOptions, filter: string) =>
        printItems(
          surroundings,
          options,
          admin.items<RetainedItem>(`/api/v1/mqtt/retained${query({ filter })}`),
          ['TOPIC', 'QOS', 'SIZE', 'SINCE', 'EXPIRES', 'VALUE'],
          (each) => [
            ...[each.topic, each.qos, size(each.bytes), time(each.timestampMs), time(each.expiresAtMs)],
            each.value,
          ],
        ),
      ),
    );
  addVerb(retained, 'clear', 'clear the retained messages that match', [
    'retained clear plant/7/temp',
    "retained clear 'plant/7/#'",
  ])
    .argument('<filter>')
    .action(
      asks(line, async (admin, options: AdminOptions, filter: string) => {
        const path = `/api/v1/mqtt/retained${query({ filter })}`;
        const answer = await admin.ask<{ readonly cleared: number }>('DELETE', path);
        print(surroundings, options, answer, ({ cleared }) => `${cleared} cleared\n`);
      }),
    );
}

const MAPPING_EXAMPLES = `
Examples:
  polylog mapping list
  polylog mapping resolve plant/7/temp               where a publish is stored: topic, partition, key
  polylog mapping resolve 'plant/+/#'                which topics a subscription reads
  polylog mapping resolve plant --record --key a/b   which MQTT topic a Kafka record has
`;

interface ResolveOptions extends AdminOptions {
  readonly record?: boolean;
  readonly key?: string;
}

interface Mapping {
  readonly index: number;
  readonly match: string;
  readonly preset: string | null;
  readonly topic: string | null;
  readonly key: string;
  readonly qos: number;
  readonly retain: string;
  readonly direction: string;
  readonly from: string | null;
}

function addMappingCommands(line: CommandLine): void {
  const { surroundings } = line;
  const mapping = addNoun(line, 'mapping', 'rules between MQTT and Kafka topics', MAPPING_EXAMPLES);
  addVerb(mapping, 'list', 'the rules, in the order in which they count', [
    'mapping list',
    'mapping list --output json | jq -r .match',
  ]).action(
    asks(line, (admin, options: AdminOptions) =>
      printItems(
        surroundings,
        options,
        admin.items<Mapping>('/api/v1/mappings'),
        ['RULE', 'MATCH', 'TOPIC', 'KEY', 'QOS', 'RETAIN', 'DIRECTION', 'FROM'],
        ({ index, match, topic, preset, key, qos, retain, direction, from }) => [
          ...[index, match, topic ?? preset, key, qos, retain, direction, from],
        ],
      ),
    ),
  );
  addVerb(mapping, 'resolve', 'what becomes of an MQTT topic, a filter, or a Kafka record', [
    'mapping resolve plant/7/temp',
    "mapping resolve 'plant/+/#'",
    'mapping resolve plant --record --key a/b',
  ])
    .argument('<name>', 'an MQTT topic; with + or # a filter; with --record a Kafka topic')
    .option('--record', 'of a record in this Kafka topic')
    .option('--key <key>', 'with --record: its key')
    .action(
      asks(line, async (admin, { record, key, ...options }: ResolveOptions, name: string) => {
        const asked =
          record === true
            ? { kafkaTopic: name, ...(key === undefined ? {} : { key }) }
            : /[+#]/.test(name)
              ? { filter: name }
              : { topic: name };
        const path = '/api/v1/mappings:resolve';
        const answer = await admin.ask<Readonly<Record<string, unknown>>>('POST', path, { body: asked });
        print(surroundings, options, answer, resolvedTable);
      }),
    );
}

function resolvedTable(answer: Readonly<Record<string, unknown>>, columns?: number): string {
  const { topics, ...rest } = answer;
  const rows = Object.entries(rest).map(([name, value]): Cell[] => [
    name,
    value === null ? null : String(value),
  ]);
  const text = table(['WHAT', 'IS'], rows, columns);
  if (!Array.isArray(topics)) return text;
  const read = topics as { topic: string; rules: unknown[]; partitions: number[] }[]; // the answer for a filter
  return `${text}\n${table(
    ['TOPIC', 'RULES', 'PARTITIONS'],
    read.map(({ topic, rules, partitions }) => [
      topic,
      rules.length === 0 ? null : rules.join(' '),
      partitions.length,
    ]),
    columns,
  )}`;
}

const CLIENT_HEADINGS = ['CLIENT', 'LISTENER', 'ADDRESS', 'MQTT', 'SINCE', 'SUBSCRIPTIONS', 'IN FLIGHT'];
const SESSION_HEADINGS = ['CLIENT', 'CONNECTED', 'EXPIRES', 'SUBSCRIPTIONS', 'IN FLIGHT'];

function clientCells(client: ClientItem): readonly Cell[] {
  const { clientId, listener, remoteAddress, protocolVersion, connectedAtMs, subscriptions, inflight } =
    client;
  return [clientId, listener, remoteAddress, protocolVersion, time(connectedAtMs), subscriptions, inflight];
}

function sessionCells({
  clientId,
  connected,
  expiresAtMs,
  subscriptions,
  inflight,
}: SessionItem): readonly Cell[] {
  return [clientId, connected ? 'yes' : 'no', time(expiresAtMs), subscriptions, inflight];
}

function filterTable(filters: readonly Subscription[], columns?: number): string {
  return table(
    ['FILTER', 'QOS'],
    filters.map(({ filter, qos }) => [filter, qos]),
    columns,
  );
}
