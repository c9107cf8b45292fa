// `[[mapping]]`: its keys, what the rules must be to each other, and the rules as the MQTT front end takes them.
import * as z from 'zod';
import { mappingConflicts } from '../../protocols/mqtt/mapping/conflicts.ts';
import type { MappingRule } from '../../protocols/mqtt/mapping/rule.ts';
import type { BrokenRule, Numbered } from './broken-rule.ts';

export const mappingSchema = z.strictObject({
  match: z.string().min(1).max(1024).optional().meta({
    description:
      'Which MQTT topics the rule is for: a topic filter whose levels may be named, as in `plant/{site}/+/telemetry/#`. The first rule that matches counts. Required without a preset.',
  }),
  preset: z.enum(['dotted']).optional().meta({
    description:
      '`dotted`: MQTT topic `a/b/c` is Kafka topic `a.b.c`, one to one. Takes the place of `topic`.',
  }),
  topic: z.string().min(1).max(1024).optional().meta({
    description:
      'Kafka topic, with `{name}` for what `match` has captured and `{mqttTopic}`. Unset: as without a rule.',
  }),
  key: z.string().max(1024).prefault('{mqttTopic}').meta({
    description: 'Key of the records, with `{name}`, `{mqttTopic}` and `{clientId}`.',
  }),
  qos: z
    .union([z.literal(0), z.literal(1), z.literal(2)])
    .prefault(1)
    .meta({
      description: 'QoS of records that Kafka clients wrote, at most: a subscription may ask for less.',
      form: '0, 1 or 2',
    }),
  retain: z.enum(['store', 'ignore']).prefault('store').meta({
    description: '`ignore`: publishes are taken as not retained.',
  }),
  direction: z.enum(['both', 'in', 'out']).prefault('both').meta({
    description:
      '`in`: from MQTT to the log alone, subscribers get nothing. `out`: to MQTT subscribers alone, publishes are refused.',
  }),
  isolation: z.enum(['read_committed', 'read_uncommitted']).prefault('read_committed').meta({
    description:
      '`read_uncommitted`: subscribers get the records of transactions at once, whether or not they are committed.',
  }),
  replay: z.boolean().prefault(true).meta({
    description: 'Whether a subscriber may ask for history.',
  }),
});

/** As broker-config.ts has it. */
export type MappingConfig = MappingRule;

export type CheckedMapping = z.output<typeof mappingSchema>;

/** The preset is for everything, unless it says what for. */
export function resolveMapping({ match, preset, topic, ...rest }: CheckedMapping): MappingRule {
  return {
    match: match ?? '#',
    ...(preset === undefined ? {} : { preset }),
    ...(topic === undefined ? {} : { topic }),
    ...rest,
  };
}

export function* mappingRules(mappings: readonly Numbered<CheckedMapping>[]): Generator<BrokenRule> {
  const usable = mappings.filter(({ value }) => value.match !== undefined || value.preset !== undefined);
  for (const { index, value } of mappings) {
    if (value.match !== undefined || value.preset !== undefined) continue;
    yield {
      path: ['mapping', index, 'match'],
      message: 'is missing',
      hint: 'a topic filter such as "plant/{site}/#"; only a preset goes without',
    };
  }
  const indexOf = (position: number) => usable[position]!.index;
  const rules = usable.map(({ value }) => resolveMapping(value));
  const label = (position: number) => `[[mapping]] ${indexOf(position) + 1} ("${rules[position]!.match}")`;
  for (const { index, key, message, hint } of mappingConflicts(rules, label)) {
    yield { path: ['mapping', indexOf(index), key], message, ...(hint === undefined ? {} : { hint }) };
  }
}
