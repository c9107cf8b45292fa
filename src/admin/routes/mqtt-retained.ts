// GET · DELETE /api/v1/mqtt/retained: messages that MQTT keeps for those who subscribe later.
import * as z from 'zod';
import type { RetainedDirectory, RetainedMessageView } from '../../../protocols/port.ts';
import { type TextEncoding, textEncoding, textOf } from '../byte-text.ts';
import { AdminError } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { finiteOrNull, messagingFor } from '../messaging.ts';
import { cursorBehind, nameQuery, pageOf, pageQuery } from '../paging.ts';
import { count, errorResponses, milliseconds } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

/** Payloads of a page: it ends with the message that reaches it. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;

const filterShape = z.string().min(1).max(65_535).meta({ description: 'A topic filter, with + and #.' });

const itemShape = z
  .strictObject({
    topic: z.string(),
    qos: z.int().min(0).max(2),
    bytes: count.meta({ description: 'Of the payload.' }),
    timestampMs: milliseconds,
    expiresAtMs: milliseconds.nullable(),
    clientId: z.string().nullable().meta({ description: 'Who published it; null when no MQTT client did.' }),
    value: z.string(),
    valueEncoding: textEncoding,
  })
  .meta({ id: 'RetainedMessage', description: 'A retained message.' });

const clearedShape = z
  .strictObject({ cleared: count })
  .meta({ id: 'ClearedMessages', description: 'How many were forgotten.' });

const retainedPage = pageOf(itemShape, 'RetainedMessagePage', 'A page of retained messages, by topic.');

export function mqttRetainedRoutes(server: HttpServer, target: AdminTarget): void {
  server.get('/api/v1/mqtt/retained', {
    config: { role: 'viewer', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'listRetainedMessages',
      summary:
        'Retained messages by topic. A page may hold fewer than `limit` and go on: their bytes are bounded too.',
      tags: ['mqtt'],
      querystring: z.strictObject({
        ...pageQuery.shape,
        filter: filterShape.optional().meta({ description: 'A topic filter; all topics but $… if absent.' }),
        valueEncoding: textEncoding
          .optional()
          .meta({ description: 'Text (the default) is base64 all the same where it is no UTF-8.' }),
      }),
      response: { 200: retainedPage, ...errorResponses },
    },
    handler: async (request) => {
      const { retained } = messagingFor(target, request.principal, 'describe');
      const { filter = '#', valueEncoding, ...paging } = request.query;
      checkFilter(retained, filter);
      const query = { ...nameQuery(paging), filter, bytesMax: PAGE_BYTES_MAX };
      const page = await retained.find(query).catch((error: unknown) => {
        throw new AdminError('storage', 'retained messages cannot be read', { cause: error });
      });
      const names = page.items.map(({ topic }) => topic);
      return {
        items: page.items.map((message) => itemOf(message, valueEncoding)),
        next: cursorBehind({ names, hasMore: page.hasMore }),
      };
    },
  });

  server.delete('/api/v1/mqtt/retained', {
    config: { role: 'operator', refuses: ['not_found', 'storage'] },
    schema: {
      operationId: 'clearRetainedMessages',
      summary:
        'Forgets retained messages. The records stay in their topics, and subscribers are told nothing.',
      tags: ['mqtt'],
      querystring: z.strictObject({ filter: filterShape }),
      response: { 200: clearedShape, ...errorResponses },
    },
    handler: async (request) => {
      const { retained } = messagingFor(target, request.principal, 'alter');
      const { filter } = request.query;
      checkFilter(retained, filter);
      const cleared = await retained.clear(filter);
      if (typeof cleared === 'number') return { cleared };
      throw new AdminError('storage', `not all of them could be cleared: ${cleared.message}`);
    },
  });
}

function checkFilter(retained: RetainedDirectory, filter: string): void {
  const problem = retained.illegalFilter(filter);
  if (problem !== undefined)
    throw new AdminError('invalid_request', `filter: ${problem}`, { field: 'filter' });
}

function itemOf(message: RetainedMessageView, asked?: TextEncoding): z.output<typeof itemShape> {
  const { topic, qos, payload, timestampMs, expiresAtMs, clientId } = message;
  const { text, encoding } = textOf(payload, asked);
  return {
    ...{ topic, qos, bytes: payload.length, timestampMs },
    expiresAtMs: finiteOrNull(expiresAtMs),
    clientId: clientId ?? null,
    value: text,
    valueEncoding: encoding,
  };
}
