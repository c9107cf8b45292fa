// GET·POST /api/v1/topics, GET·PATCH·DELETE /api/v1/topics/{topic}: what topics there are, and changes to them. What is
// shown comes from memory; no log is read.
import * as z from 'zod';
import type { TopicConfigChange, TopicView } from '../../../protocols/port.ts';
import { requireAccess } from '../access.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { pageFrom, pageOf, pageQuery } from '../paging.ts';
import { errorResponses, topicParam } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';
import { knownTopic, topicError } from '../topic-errors.ts';
import { entityTag, isMatch, topicDetail, topicItem, topicItemShape, topicShape } from '../topic-views.ts';

const configName = z.string().min(1).max(249);
const configValue = z.union([z.string().max(32_767), z.number(), z.boolean()]);

const topicPage = pageOf(topicItemShape, 'TopicPage', 'A page of topics, by name.');

const params = z.strictObject({ topic: topicParam });

const ifMatch = z.looseObject({
  'if-match': z
    .string()
    .optional()
    .meta({ description: 'ETag of what was seen; absent = whatever there is.' }),
});

const created = z
  .strictObject({
    topic: z.string().max(1024),
    partitions: z.int().min(1).optional().meta({ description: 'Default: what the hub is configured with.' }),
    config: z.record(configName, configValue).optional().meta({ description: "Kafka's names and values." }),
  })
  .meta({
    id: 'NewTopic',
    description: 'The topic to make.',
    examples: [{ topic: 'telemetry', partitions: 12, config: { 'retention.ms': 86400000 } }],
  });

const changed = z
  .strictObject({
    config: z
      .record(configName, configValue.nullable())
      .meta({ description: 'Entries to change; null = what the hub says. What is not named stays.' }),
  })
  .meta({
    id: 'TopicChange',
    description: 'What is to change of a configuration.',
    examples: [{ config: { 'retention.ms': 86400000, 'max.message.bytes': null } }],
  });

export function topicRoutes(server: HttpServer, { hub }: AdminTarget): void {
  const { topics, access } = hub;

  server.get('/api/v1/topics', {
    config: { role: 'viewer' },
    schema: {
      operationId: 'listTopics',
      summary: 'Topics by name.',
      tags: ['topics'],
      querystring: pageQuery,
      response: { 200: topicPage, ...errorResponses },
    },
    handler: (request) => {
      const visible = topics
        .list()
        .filter(({ name }) => access.allows(request.principal, 'describe', 'topic', name));
      const page = pageFrom(visible, ({ name }) => name, request.query);
      return { items: page.items.map((topic) => topicItem(topic, topics)), next: page.next };
    },
  });

  server.post('/api/v1/topics', {
    config: {
      role: 'operator',
      refuses: ['internal_topic', 'exists', 'declared', 'conflict', 'limit_reached', 'storage'],
    },
    schema: {
      operationId: 'createTopic',
      summary: 'Makes a topic.',
      tags: ['topics'],
      body: created,
      response: { 201: topicShape, ...errorResponses },
    },
    handler: async (request, reply) => {
      const { topic: name, partitions = -1, config = {} } = request.body;
      requireAccess(access, request.principal, 'create', 'topic', name);
      const texts = Object.fromEntries(
        Object.entries(config).map(([entry, value]) => [entry, String(value)]),
      );
      const made = await topics.create({ name, partitions, replicationFactor: -1, config: texts });
      if ('error' in made) throw topicError(made);
      reply.code(201).header('location', `/api/v1/topics/${encodeURIComponent(name)}`);
      return shown(topics.get(name) ?? made, reply);
    },
  });

  server.get('/api/v1/topics/:topic', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getTopic',
      summary: 'One topic with its configuration. The header ETag is for the next change.',
      tags: ['topics'],
      params,
      response: { 200: topicShape, ...errorResponses },
    },
    handler: (request, reply) => {
      requireAccess(access, request.principal, 'describe', 'topic', request.params.topic);
      return shown(knownTopic(topics, request.params.topic), reply);
    },
  });

  server.patch('/api/v1/topics/:topic', {
    config: {
      role: 'operator',
      refuses: ['internal_topic', 'not_found', 'declared', 'conflict', 'precondition_failed', 'storage'],
    },
    schema: {
      operationId: 'alterTopic',
      summary: 'Changes entries of the configuration, all or none; with If-Match only what was seen.',
      tags: ['topics'],
      params,
      headers: ifMatch,
      body: changed,
      response: { 200: topicShape, ...errorResponses },
    },
    handler: async (request, reply) => {
      const name = request.params.topic;
      requireAccess(access, request.principal, 'alter', 'topic', name);
      const expected = knownTopic(topics, name);
      const tag = request.headers['if-match'];
      if (!isMatch(tag, entityTag(expected, topics))) throw changedMeanwhile(name);
      const changes = Object.entries(request.body.config).map(([entry, value]) => changeOf(entry, value));
      const problem = await topics.alterConfig(name, changes, tag === undefined ? {} : { expected });
      if (problem?.error === 'conflict' && tag !== undefined) throw changedMeanwhile(name);
      if (problem !== undefined) throw topicError(problem);
      return shown(knownTopic(topics, name), reply);
    },
  });

  server.delete('/api/v1/topics/:topic', {
    config: { role: 'operator', refuses: ['internal_topic', 'not_found', 'declared', 'conflict', 'storage'] },
    schema: {
      operationId: 'deleteTopic',
      summary: 'Deletes a topic and its records.',
      tags: ['topics'],
      params,
      response: { 204: z.null().meta({ description: 'It is gone.' }), ...errorResponses },
    },
    handler: async (request, reply) => {
      const name = request.params.topic;
      requireAccess(access, request.principal, 'delete', 'topic', name);
      const problem = await topics.delete(name);
      if (problem !== undefined) throw topicError(problem);
      reply.code(204);
      return null;
    },
  });

  function shown(topic: TopicView, reply: { header(name: string, value: string): unknown }) {
    reply.header('etag', entityTag(topic, topics));
    return topicDetail(topic, topics);
  }
}

function changeOf(name: string, value: z.output<typeof configValue> | null): TopicConfigChange {
  if (value === null) return { name, operation: 'delete', value: '' };
  return { name, operation: 'set', value: String(value) };
}

function changedMeanwhile(name: string): AdminError {
  return new AdminError('precondition_failed', `topic ${name} was changed since`, {
    field: 'If-Match',
    hint: 'look at it again, and send its ETag',
  });
}
