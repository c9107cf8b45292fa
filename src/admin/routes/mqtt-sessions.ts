// GET /api/v1/mqtt/sessions, GET · DELETE /api/v1/mqtt/sessions/{client}: MQTT sessions that outlive their connections, and
// how far each is, in the shape of a consumer group's offsets.
import * as z from 'zod';
import type { MappingDirectory, SessionDetail, SessionView, Topics } from '../../../protocols/port.ts';
import { type ConsumedPartition, consumedPartitionShape } from '../consumed-partition.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import {
  clientParams,
  finiteOrNull,
  messagingFor,
  pageOfViews,
  subscriptionItem,
  subscriptionShape,
} from '../messaging.ts';
import { pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

const itemShape = z
  .strictObject({
    clientId: z.string(),
    connected: z.boolean(),
    expirySeconds: count.nullable().meta({ description: 'Null = it does not expire.' }),
    expiresAtMs: milliseconds
      .nullable()
      .meta({ description: 'Null = never, or not while its client is connected.' }),
    subscriptions: count,
    inflight: count.meta({ description: 'QoS 1 and 2 messages on their way to its client.' }),
  })
  .meta({ id: 'MqttSessionSummary', description: 'An MQTT session that outlives its connection.' });

const sessionPage = pageOf(itemShape, 'MqttSessionPage', 'A page of sessions, by client identifier.');

const sessionShape = z
  .strictObject({
    ...itemShape.shape,
    filters: z.array(subscriptionShape),
    partitions: z.array(consumedPartitionShape).meta({
      description:
        'Where it is in each partition that its subscriptions read; `lag` counts records, whether or not they are for it. Records of other topics reach it where their header `mqtt.topic` says so.',
    }),
  })
  .meta({ id: 'MqttSession', description: 'A session with its subscriptions and positions.' });

export function mqttSessionRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/api/v1/mqtt/sessions', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'listMqttSessions',
      summary: 'MQTT sessions that outlive their connections, by client identifier.',
      tags: ['mqtt'],
      querystring: pageQuery,
      response: { 200: sessionPage, ...errorResponses },
    },
    handler: (request) => {
      const { sessions } = messagingFor(target, request.principal, 'describe');
      return pageOfViews(sessions, request.query, itemOf);
    },
  });

  server.get('/api/v1/mqtt/sessions/:client', {
    config: { role: 'viewer', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'getMqttSession',
      summary: 'One session: its subscriptions, and how far behind it is.',
      tags: ['mqtt'],
      params: clientParams,
      response: { 200: sessionShape, ...errorResponses },
    },
    handler: async (request) => {
      const { sessions, mappings } = messagingFor(target, request.principal, 'describe');
      const { client: clientId } = request.params;
      const detail = await sessions.read(clientId).catch((error: unknown) => {
        throw new AdminError('storage', `the session of ${clientId} cannot be read`, { cause: error });
      });
      if (detail === undefined) throw noSession(clientId);
      const partitions = partitionItems(detail, target.hub.topics, readTopics(detail, mappings));
      return { ...itemOf(detail), filters: detail.filters.map(subscriptionItem), partitions };
    },
  });

  server.delete('/api/v1/mqtt/sessions/:client', {
    config: { role: 'operator', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'endMqttSession',
      summary:
        'Ends a session. Its client is disconnected first (DISCONNECT 0x98) and may come back to nothing.',
      tags: ['mqtt'],
      params: clientParams,
      response: { 204: z.null().meta({ description: 'It is gone.' }), ...errorResponses },
    },
    handler: async (request, reply) => {
      const { sessions } = messagingFor(target, request.principal, 'alter');
      const { client: clientId } = request.params;
      const ended = await sessions.end(clientId);
      if (ended === false) throw noSession(clientId);
      if (ended !== true) throw new AdminError('storage', `the session cannot be ended: ${ended.message}`);
      reply.code(204);
      return null;
    },
  });
}

function noSession(clientId: string): AdminError {
  return new AdminError('not_found', `client ${clientId} has no session that outlives its connection`, {
    field: 'client',
  });
}

function itemOf(view: SessionView): z.output<typeof itemShape> {
  const { clientId, connected, expirySeconds, expiresAtMs, subscriptions, inflight } = view;
  return {
    ...{ clientId, connected },
    expirySeconds: finiteOrNull(expirySeconds),
    expiresAtMs: finiteOrNull(expiresAtMs),
    ...{ subscriptions, inflight },
  };
}

/** Of a session with very many subscriptions nobody asks each filter where it reads: undefined = of all topics. */
const FILTERS_MAX = 64;

function readTopics(
  { filters }: SessionDetail,
  mappings: MappingDirectory,
): ReadonlyMap<string, ReadonlySet<number>> | undefined {
  if (filters.length > FILTERS_MAX) return undefined;
  const read = new Map<string, Set<number>>();
  for (const { filter } of filters) {
    const mapping = mappings.ofFilter(filter);
    if (typeof mapping === 'string') return undefined;
    for (const { topic, partitions } of mapping.topics)
      read.set(topic, new Set([...(read.get(topic) ?? []), ...partitions]));
  }
  return read;
}

function partitionItems(
  { clientId, cursors }: SessionDetail,
  topics: Topics,
  read: ReadonlyMap<string, ReadonlySet<number>> | undefined,
): ConsumedPartition[] {
  const isRead = ({ topic, partition }: SessionDetail['cursors'][number]): boolean =>
    read === undefined || read.get(topic)?.has(partition) === true;
  return cursors.filter(isRead).map(({ topic, partition, offset }) => {
    const logEnd = topics.partition(topic, partition)?.highWatermark ?? null;
    return {
      ...{ topic, partition, committed: offset, logEnd },
      lag: logEnd === null ? null : Math.max(0, logEnd - offset),
      ...{ metadata: null, leaderEpoch: null, committedAtMs: null, memberId: null, clientId, host: null },
    };
  });
}
