// GET /api/v1/mappings, POST /api/v1/mappings:resolve: which Kafka topic has which MQTT topics, asked from either side.
import * as z from 'zod';
import type { MappingDirectory, MappingView } from '../../../protocols/port.ts';
import { bytesOf, textEncoding } from '../byte-text.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { messagingFor } from '../messaging.ts';
import { pageOf } from '../paging.ts';
import { count, errorResponses, topicParam } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const TEXT_MAX = 65_535;
const KEY_MAX = 1_000_000;
const BODY_BYTES_MAX = 2 * 1024 * 1024;

const ruleIndex = count
  .nullable()
  .meta({ description: 'Position in the list of rules; null = no rule is for it.' });

const mappingShape = z
  .strictObject({
    index: count,
    match: z.string(),
    preset: z.string().nullable(),
    topic: z.string().nullable(),
    key: z.string(),
    qos: z.int().min(0).max(2),
    retain: z.enum(['store', 'ignore']),
    direction: z.enum(['both', 'in', 'out']),
    isolation: z.enum(['read_committed', 'read_uncommitted']),
    replay: z.boolean(),
    from: z.string().nullable().meta({ description: 'Where the configuration says so, `file:line`.' }),
  })
  .meta({ id: 'MappingRule', description: 'A rule between MQTT and Kafka topics.' });

const mappingPage = pageOf(mappingShape, 'MappingRulePage', 'All rules, in the order in which they count.');

const question = z
  .strictObject({
    topic: z.string().min(1).max(TEXT_MAX).optional().meta({ description: 'An MQTT topic.' }),
    clientId: z.string().max(TEXT_MAX).optional().meta({ description: 'With topic: who publishes.' }),
    filter: z.string().min(1).max(TEXT_MAX).optional().meta({ description: 'An MQTT topic filter.' }),
    kafkaTopic: topicParam.min(1).optional().meta({ description: 'A Kafka topic, for a record of it.' }),
    key: z.string().max(KEY_MAX).nullable().optional().meta({ description: 'With kafkaTopic: its key.' }),
    keyEncoding: textEncoding.optional(),
    mqttTopicHeader: z
      .string()
      .max(TEXT_MAX)
      .optional()
      .meta({ description: 'With kafkaTopic: its header `mqtt.topic`.' }),
  })
  .meta({
    id: 'MappingQuestion',
    description: 'One of `topic`, `filter` and `kafkaTopic`.',
    examples: [
      { topic: 'plant/7/temp' },
      { filter: 'plant/+/#' },
      { kafkaTopic: 'plant', key: 'plant/7/temp' },
    ],
  });

const topicAnswer = z
  .strictObject({
    asked: z.literal('topic'),
    mqttTopic: z.string(),
    rule: ruleIndex,
    topic: z.string().nullable().meta({ description: 'Null: the rule makes no legal name of it.' }),
    partition: count.nullable().meta({ description: 'Null while the topic does not exist.' }),
    key: z.string(),
    publishes: z.boolean().meta({ description: 'Whether clients may publish to it.' }),
    delivers: z.boolean().meta({ description: 'Whether subscribers get it.' }),
  })
  .meta({ id: 'MappingOfTopic', description: 'Where an MQTT topic is stored.' });

const filterAnswer = z
  .strictObject({
    asked: z.literal('filter'),
    filter: z.string(),
    topics: z
      .array(z.strictObject({ topic: z.string(), rules: z.array(ruleIndex), partitions: z.array(count) }))
      .meta({
        description:
          'Where publishes that match are stored. A record of any topic may say by its header `mqtt.topic` that it is for them.',
      }),
  })
  .meta({ id: 'MappingOfFilter', description: 'Which topics a filter reads.' });

const recordAnswer = z
  .strictObject({
    asked: z.literal('record'),
    topic: z.string(),
    mqttTopic: z.string(),
    by: z.enum(['header', 'rule', 'key', 'name']).meta({ description: 'What tells the MQTT topic.' }),
    rule: ruleIndex,
    delivers: z.boolean(),
    qos: z.int().min(0).max(2).meta({ description: 'At which it is delivered at most.' }),
  })
  .meta({ id: 'MappingOfRecord', description: 'Which MQTT topic a record has.' });

const resolvedShape = z
  .union([topicAnswer, filterAnswer, recordAnswer])
  .meta({ id: 'ResolvedMapping', description: 'The answer to what was asked.' });

type Question = z.output<typeof question>;
type Answer = z.output<typeof topicAnswer> | z.output<typeof filterAnswer> | z.output<typeof recordAnswer>;

export function mappingRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/api/v1/mappings', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'listMappings',
      summary: 'Mapping rules between MQTT and Kafka topics, in the order in which they count.',
      tags: ['mappings'],
      response: { 200: mappingPage, ...errorResponses },
    },
    handler: (request) => {
      const { mappings } = messagingFor(target, request.principal, 'describe');
      return { items: mappings.list().map(itemOf), next: null };
    },
  });

  server.post('/api/v1/mappings::resolve', {
    config: { role: 'viewer', refuses: ['not_found'] },
    bodyLimit: BODY_BYTES_MAX,
    schema: {
      operationId: 'resolveMapping',
      summary:
        'Where an MQTT topic is stored, which topics a filter reads, or which MQTT topic a record has.',
      tags: ['mappings'],
      body: question,
      response: { 200: resolvedShape, ...errorResponses },
    },
    handler: (request) => {
      const { mappings } = messagingFor(target, request.principal, 'describe');
      return answerOf(request.body, mappings);
    },
  });
}

function answerOf(asked: Question, mappings: MappingDirectory): Answer {
  const { topic, filter, kafkaTopic } = asked;
  if ([topic, filter, kafkaTopic].filter((each) => each !== undefined).length !== 1) {
    throw new AdminError('invalid_request', 'one of topic, filter and kafkaTopic is asked for', {
      field: 'body',
      hint: 'topic: where it is stored; filter: what it reads; kafkaTopic: which MQTT topic a record has',
    });
  }
  if (topic !== undefined) return topicAnswerOf(topic, asked.clientId ?? '', mappings);
  if (filter !== undefined) return filterAnswerOf(filter, mappings);
  return recordAnswerOf(kafkaTopic!, asked, mappings); // one of the three
}

function topicAnswerOf(mqttTopic: string, clientId: string, mappings: MappingDirectory): Answer {
  const mapping = mappings.ofTopic(mqttTopic, clientId);
  if (typeof mapping === 'string') {
    throw new AdminError('invalid_request', `topic: ${mapping}`, { field: 'topic' });
  }
  const { rule, topic, partition, key, publishes, delivers } = mapping;
  return {
    ...{ asked: 'topic' as const, mqttTopic, rule: indexOrNull(rule), topic: topic ?? null },
    partition: indexOrNull(partition),
    ...{ key, publishes, delivers },
  };
}

function filterAnswerOf(filter: string, mappings: MappingDirectory): Answer {
  const mapping = mappings.ofFilter(filter);
  if (typeof mapping === 'string') {
    throw new AdminError('invalid_request', `filter: ${mapping}`, { field: 'filter' });
  }
  const topics = mapping.topics.map(({ topic, rules, partitions }) => {
    return { topic, rules: rules.map(indexOrNull), partitions: [...partitions] };
  });
  return { asked: 'filter', filter, topics };
}

function recordAnswerOf(kafkaTopic: string, asked: Question, mappings: MappingDirectory): Answer {
  const { key = null, keyEncoding = 'utf8', mqttTopicHeader } = asked;
  const bytes = key === null ? null : bytesOf(key, keyEncoding, 'key');
  const named = mqttTopicHeader === undefined ? undefined : Buffer.from(mqttTopicHeader);
  const { messageTopic, by, rule, delivers, qos } = mappings.ofRecord(kafkaTopic, bytes, named);
  return {
    ...{ asked: 'record' as const, topic: kafkaTopic, mqttTopic: messageTopic, by },
    ...{ rule: indexOrNull(rule), delivers, qos },
  };
}

function indexOrNull(index: number): number | null {
  return index < 0 ? null : index;
}

function itemOf(view: MappingView, index: number): z.output<typeof mappingShape> {
  const { match, preset, topic, key, qos, retain, direction, isolation, replay, declaredAt } = view;
  return {
    ...{ index, match, preset: preset ?? null, topic: topic ?? null, key, qos, retain, direction },
    ...{ isolation, replay, from: declaredAt ?? null },
  };
}
