// GET /api/v1/mqtt/clients, GET · DELETE /api/v1/mqtt/clients/{client}: MQTT clients that are connected.
import * as z from 'zod';
import type { ClientView } from '../../../protocols/port.ts';
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
    listener: z.string(),
    remoteAddress: z.string(),
    protocolVersion: z.enum(['3.1', '3.1.1', '5']),
    connectedAtMs: milliseconds,
    keepaliveSeconds: count.meta({ description: '0: it may be silent for ever.' }),
    cleanStart: z.boolean(),
    expirySeconds: count
      .nullable()
      .meta({ description: 'What its session outlives the connection by; null = it does not expire.' }),
    subscriptions: count,
    inflight: count.meta({ description: 'QoS 1 and 2 messages on their way to it.' }),
    partitionsBehind: count.meta({
      description: 'Partitions of which it has still to get what it has missed.',
    }),
    pendingBytes: count.meta({ description: 'Waiting for its socket.' }),
  })
  .meta({ id: 'MqttClientSummary', description: 'An MQTT client that is connected.' });

const clientPage = pageOf(itemShape, 'MqttClientPage', 'A page of clients, by identifier.');

const clientShape = z
  .strictObject({ ...itemShape.shape, filters: z.array(subscriptionShape) })
  .meta({ id: 'MqttClient', description: 'An MQTT client with its subscriptions.' });

export function mqttClientRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/api/v1/mqtt/clients', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'listMqttClients',
      summary: 'MQTT clients that are connected, by identifier.',
      tags: ['mqtt'],
      querystring: pageQuery,
      response: { 200: clientPage, ...errorResponses },
    },
    handler: (request) => {
      const { clients } = messagingFor(target, request.principal, 'describe');
      return pageOfViews(clients, request.query, itemOf);
    },
  });

  server.get('/api/v1/mqtt/clients/:client', {
    config: { role: 'viewer', refuses: ['not_found'] },
    schema: {
      operationId: 'getMqttClient',
      summary: 'One client that is connected, with its subscriptions.',
      tags: ['mqtt'],
      params: clientParams,
      response: { 200: clientShape, ...errorResponses },
    },
    handler: (request) => {
      const { clients } = messagingFor(target, request.principal, 'describe');
      const { client: clientId } = request.params;
      const view = clients.get(clientId);
      if (view === undefined) throw notConnected(clientId);
      return { ...itemOf(view), filters: clients.subscriptions(clientId).map(subscriptionItem) };
    },
  });

  server.delete('/api/v1/mqtt/clients/:client', {
    config: { role: 'operator', refuses: ['not_found'] },
    schema: {
      operationId: 'disconnectMqttClient',
      summary: 'Disconnects a client (DISCONNECT 0x98). Its session stays, and it may come back.',
      tags: ['mqtt'],
      params: clientParams,
      response: { 204: z.null().meta({ description: 'It is disconnected.' }), ...errorResponses },
    },
    handler: async (request, reply) => {
      const { clients } = messagingFor(target, request.principal, 'alter');
      const { client: clientId } = request.params;
      if (!(await clients.disconnect(clientId))) throw notConnected(clientId);
      reply.code(204);
      return null;
    },
  });
}

function notConnected(clientId: string): AdminError {
  return new AdminError('not_found', `no client ${clientId} is connected`, { field: 'client' });
}

function itemOf(view: ClientView): z.output<typeof itemShape> {
  const { clientId, listener, remoteAddress, protocolVersion, connectedAtMs, keepaliveSeconds } = view;
  const { cleanStart, expirySeconds, subscriptions, inflight, partitionsBehind, pendingBytes } = view;
  return {
    ...{ clientId, listener, remoteAddress },
    // The three that there are.
    protocolVersion: protocolVersion as '3.1' | '3.1.1' | '5',
    ...{ connectedAtMs, keepaliveSeconds, cleanStart },
    expirySeconds: finiteOrNull(expirySeconds),
    ...{ subscriptions, inflight, partitionsBehind, pendingBytes },
  };
}
