// POST /api/v1/mqtt/publish: a message as an MQTT client publishes it, on disk before the answer.
import * as z from 'zod';
import type { MessageNotPublished } from '../../../protocols/port.ts';
import { bytesOf, textEncoding } from '../byte-text.ts';
import { AdminError, type ErrorCode } from '../errors.ts';
import type { HttpServer } from '../http-server.ts';
import { messagingFor } from '../messaging.ts';
import { count, errorResponses } from '../shapes.ts';
import type { AdminTarget } from '../target.ts';

/** A message of the default `max.message.bytes` fits, in base64 too. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const STRING_MAX = 65_535;
const USER_PROPERTIES_MAX = 1000;

const bodyShape = z
  .strictObject({
    topic: z.string().min(1).max(STRING_MAX),
    payload: z
      .string()
      .meta({ description: 'Empty, with retain: the topic has no retained message any more.' }),
    payloadEncoding: textEncoding.optional().meta({ description: 'Of `payload`: utf8 if absent.' }),
    qos: z
      .union([z.literal(0), z.literal(1), z.literal(2)])
      .optional()
      .meta({
        description:
          'What subscribers get at most: 0 if absent. It is stored before the answer whatever this says.',
      }),
    retain: z.boolean().optional(),
    userProperties: z
      .array(z.strictObject({ name: z.string().max(STRING_MAX), value: z.string().max(STRING_MAX) }))
      .max(USER_PROPERTIES_MAX)
      .optional(),
    contentType: z.string().max(STRING_MAX).optional(),
    responseTopic: z.string().min(1).max(STRING_MAX).optional(),
    correlationData: z
      .string()
      .max(2 * STRING_MAX)
      .optional()
      .meta({ description: 'In base64.' }),
    expirySeconds: z.int().min(0).max(0xffff_ffff).optional(),
    payloadFormat: z.enum(['bytes', 'utf8']).optional().meta({ description: 'What subscribers are told.' }),
  })
  .meta({
    id: 'NewMqttMessage',
    description: 'A message to publish.',
    examples: [{ topic: 'plant/7/temp', payload: '21.5', qos: 1, retain: true }],
  });

const publishedShape = z
  .strictObject({
    topic: z.string().meta({ description: 'The Kafka topic.' }),
    partition: count,
    offset: count,
  })
  .meta({
    id: 'PublishedMessage',
    description: 'Where the message is stored.',
    examples: [{ topic: 'plant', partition: 0, offset: 701 }],
  });

const CODES: Readonly<Record<MessageNotPublished['refused'], ErrorCode>> = {
  invalid: 'invalid_request',
  forbidden: 'forbidden',
  limit: 'limit_reached',
  'too-large': 'payload_too_large',
  storage: 'storage',
};

export function mqttPublishRoutes(server: HttpServer, target: AdminTarget): void {
  server.post('/api/v1/mqtt/publish', {
    config: { role: 'operator', refuses: ['not_found', 'limit_reached', 'storage'] },
    bodyLimit: BODY_BYTES_MAX,
    schema: {
      operationId: 'publishMqttMessage',
      summary: 'Publishes a message to an MQTT topic. Answered when it is on disk.',
      tags: ['mqtt'],
      body: bodyShape,
      response: { 200: publishedShape, ...errorResponses },
    },
    handler: async (request) => {
      const { publisher } = messagingFor(target, request.principal, 'describe');
      const {
        topic,
        payload,
        payloadEncoding = 'utf8',
        payloadFormat,
        correlationData,
        ...rest
      } = request.body;
      const published = await publisher.publish(request.principal, {
        topic,
        payload: bytesOf(payload, payloadEncoding, 'payload'),
        qos: rest.qos ?? 0,
        retain: rest.retain ?? false,
        userProperties: (rest.userProperties ?? []).map(({ name, value }) => [name, value] as const),
        contentType: rest.contentType,
        responseTopic: rest.responseTopic,
        correlationData:
          correlationData === undefined ? undefined : bytesOf(correlationData, 'base64', 'correlationData'),
        expirySeconds: rest.expirySeconds,
        isText: payloadFormat === undefined ? undefined : payloadFormat === 'utf8',
      });
      if (published.refused !== undefined) throw new AdminError(CODES[published.refused], published.message);
      const { topic: kafkaTopic, partition, offset } = published;
      return { topic: kafkaTopic, partition, offset };
    },
  });
}
