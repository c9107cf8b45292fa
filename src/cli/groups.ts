// `polylog groups list·describe·reset·delete`: who consumes, how far they are, and where they are to go on.
import type { AdminOptions } from './admin-client.ts';
import {
  addNoun,
  addRemoval,
  addVerb,
  asks,
  type CommandLine,
  part,
  print,
  printItems,
  time,
} from './noun.ts';
import { type Cell, table } from './table.ts';

interface GroupItem {
  readonly groupId: string;
  readonly state: string;
  readonly protocolType: string;
  readonly protocol: string | null;
  readonly members: number;
}

interface ConsumedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly committed: number | null;
  readonly logEnd: number | null;
  readonly lag: number | null;
  readonly committedAtMs: number | null;
  readonly clientId: string | null;
  readonly host: string | null;
}

interface GroupOffsets {
  readonly groupId: string;
  readonly state: string;
  readonly partitions: readonly ConsumedPartition[];
}

interface Reset {
  readonly groupId: string;
  readonly dryRun: boolean;
  readonly partitions: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly before: number | null;
    readonly after: number | null;
  }[];
}

interface ResetOptions extends AdminOptions {
  readonly to: string;
  readonly topic?: readonly string[];
  readonly dryRun?: boolean;
}

const EXAMPLES = `
Examples:
  polylog groups list
  polylog groups describe billing
  polylog groups describe billing --output json | jq '[.partitions[].lag] | add'
  polylog groups reset billing --to time:-1h --dry-run
  polylog groups reset billing --to earliest --topic orders
  polylog groups delete billing

reset needs a group without members: stop its consumers first. With --dry-run it only says what would come of it.
`;

export function addGroupCommands(line: CommandLine): void {
  const { surroundings } = line;
  const groups = addNoun(line, 'groups', 'consumer groups of a running hub', EXAMPLES);

  addVerb(groups, 'list', 'each group with its state', [
    'groups list',
    'groups list --output json | jq -r \'select(.state == "empty").groupId\'',
  ]).action(
    asks(line, (admin, options: AdminOptions) =>
      printItems(
        surroundings,
        options,
        admin.items<GroupItem>('/api/v1/groups'),
        ['GROUP', 'STATE', 'MEMBERS', 'TYPE', 'PROTOCOL'],
        ({ groupId, state, members, protocolType, protocol }) => [
          groupId,
          state,
          members,
          protocolType === '' ? null : protocolType,
          protocol,
        ],
      ),
    ),
  );

  addVerb(groups, 'describe', 'how far it is in each partition, and who has it', [
    'groups describe billing',
    "groups describe billing --output json | jq '[.partitions[].lag] | add'",
  ])
    .argument('<group>')
    .action(
      asks(line, async (admin, options: AdminOptions, group: string) => {
        const answer = await admin.ask<GroupOffsets>('GET', `${pathOf(group)}/offsets`);
        print(surroundings, options, answer, ({ groupId, state, partitions }, columns) =>
          table(['GROUP', 'STATE'], [[groupId, state]], columns).concat(
            '\n',
            consumedTable(partitions, columns),
          ),
        );
      }),
    );

  addVerb(groups, 'reset', 'set where a group without members goes on', [
    'groups reset billing --to earliest --topic orders',
    'groups reset billing --to time:-1h --dry-run',
    'groups reset billing --to time:2026-09-01T00:00:00Z',
    'groups reset billing --to shift:-10',
  ])
    .argument('<group>')
    .requiredOption('--to <place>', 'earliest, latest, offset:N, time:T or shift:N')
    .option(
      '--topic <topic>',
      'all partitions of it; may be repeated (default: what it has committed)',
      addTo,
    )
    .option('--dry-run', 'say what would come of it, and change nothing')
    .action(
      asks(line, async (admin, { to, topic, dryRun, ...options }: ResetOptions, group: string) => {
        const body = {
          to,
          ...(topic === undefined ? {} : { topics: topic }),
          ...(dryRun === true ? { dryRun } : {}),
        };
        const answer = await admin.ask<Reset>('POST', `${pathOf(group)}/offsets:reset`, { body });
        print(surroundings, options, answer, ({ partitions }, columns) =>
          table(
            ['TOPIC', 'PARTITION', 'BEFORE', answer.dryRun ? 'WOULD BE' : 'AFTER'],
            partitions.map((each) => [each.topic, each.partition, each.before, each.after]),
            columns,
          ),
        );
      }),
    );

  addRemoval(line, groups, {
    verb: 'delete',
    description: 'delete a group without members, and what it has committed',
    argument: '<group>',
    example: 'billing',
    done: 'deleted',
    pathOf,
    wording: (group) => `${group} is deleted`,
  });
}

/** How far somebody is in each partition: a group, or an MQTT session. */
export function consumedTable(partitions: readonly ConsumedPartition[], columns?: number): string {
  const rows = partitions.map((each): readonly Cell[] => [
    ...[each.topic, each.partition, each.committed, each.logEnd, each.lag, time(each.committedAtMs)],
    ...[each.clientId, each.host],
  ]);
  return table(['TOPIC', 'PARTITION', 'COMMITTED', 'END', 'LAG', 'SINCE', 'CLIENT', 'HOST'], rows, columns);
}

export function addTo(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

const pathOf = (group: string): string => `/api/v1/groups/${part(group)}`;
