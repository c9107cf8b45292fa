// Calls of the contract test: MQTT clients, sessions, subscriptions, retained messages, publishing, and mapping rules.
import { connectAsync } from 'mqtt';
import type { AdminFixture } from '../admin-fixture.ts';
import { type Area, pagedWrong, refused } from './area.ts';

export const MQTT_TOML = `
[[listener]]
name = "mqtt"
protocol = "mqtt"
bind = "127.0.0.1:0"
[[mapping]]
match = "plant/{site}/#"
topic = "plant-{site}"
`;

const PATH = '/api/v1/mqtt';
const ODD = 'a/b:c ü%';
const TO_GO = ['goes', ODD];

async function connectClient(admin: AdminFixture, clientId: string) {
  const port = admin.broker.listeners().find(({ name }) => name === 'mqtt')!.port;
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
    ...{ protocolVersion: 5, clientId, clean: false, reconnectPeriod: 0 },
    properties: { sessionExpiryInterval: 3600 },
  });
  await client.subscribeAsync('m/#', { qos: 1 });
  return client;
}

const post = (path: string, body: unknown) => ({ path, body });

export const mqttArea: Area = {
  async prepare(admin) {
    const client = await connectClient(admin, 'c');
    for (const topic of ['r/1', 'r/2']) await client.publishAsync(topic, 'x', { retain: true, qos: 1 });
    for (const clientId of TO_GO) await connectClient(admin, clientId);
  },
  routes: {
    [`GET ${PATH}/clients`]: {
      right: [`${PATH}/clients`, `${PATH}/clients?limit=1`, `${PATH}/clients?search=C`],
      wrong: pagedWrong(`${PATH}/clients`),
    },
    [`GET ${PATH}/clients/{client}`]: {
      right: [`${PATH}/clients/c`, `${PATH}/clients/${encodeURIComponent(ODD)}`],
      wrong: [
        refused(`${PATH}/clients/none`, 404, 'not_found', 'client'),
        refused(`${PATH}/clients/%zz`, 400, 'invalid_request', 'path'),
      ],
    },
    [`DELETE ${PATH}/clients/{client}`]: {
      right: TO_GO.map((name) => ({ path: `${PATH}/clients/${encodeURIComponent(name)}`, status: 204 })),
      wrong: [refused(`${PATH}/clients/none`, 404, 'not_found', 'client')],
    },
    [`GET ${PATH}/sessions`]: {
      right: [`${PATH}/sessions`, `${PATH}/sessions?limit=1`, `${PATH}/sessions?search=C`],
      wrong: pagedWrong(`${PATH}/sessions`),
    },
    [`GET ${PATH}/sessions/{client}`]: {
      right: [`${PATH}/sessions/c`, `${PATH}/sessions/goes`],
      wrong: [refused(`${PATH}/sessions/none`, 404, 'not_found', 'client')],
    },
    [`DELETE ${PATH}/sessions/{client}`]: {
      right: TO_GO.map((name) => ({ path: `${PATH}/sessions/${encodeURIComponent(name)}`, status: 204 })),
      wrong: [refused(`${PATH}/sessions/none`, 404, 'not_found', 'client')],
    },
    [`GET ${PATH}/subscriptions`]: {
      right: [`${PATH}/subscriptions`, `${PATH}/subscriptions?limit=1`, `${PATH}/subscriptions?matches=m/1`],
      wrong: [
        ...pagedWrong(`${PATH}/subscriptions`),
        refused(`${PATH}/subscriptions?matches=`, 400, 'invalid_request', 'matches'),
        refused(`${PATH}/subscriptions?matches=a/%2B`, 400, 'invalid_request', 'matches'),
      ],
    },
    [`GET ${PATH}/retained`]: {
      right: [`${PATH}/retained`, `${PATH}/retained?filter=r/%2B&limit=1&valueEncoding=base64`],
      wrong: [
        ...pagedWrong(`${PATH}/retained`),
        refused(`${PATH}/retained?filter=a/%23/b`, 400, 'invalid_request', 'filter'),
        refused(`${PATH}/retained?valueEncoding=x`, 400, 'invalid_request', 'valueEncoding'),
      ],
    },
    [`DELETE ${PATH}/retained`]: {
      right: [`${PATH}/retained?filter=r/1`, `${PATH}/retained?filter=none/%23`],
      wrong: [
        refused(`${PATH}/retained`, 400, 'invalid_request', 'filter'),
        refused(`${PATH}/retained?filter=a%2B`, 400, 'invalid_request', 'filter'),
      ],
    },
    [`POST ${PATH}/publish`]: {
      right: [
        post(`${PATH}/publish`, { topic: 'm/1', payload: 'x' }),
        post(`${PATH}/publish`, {
          ...{ topic: 'm/2', payload: 'AA==', payloadEncoding: 'base64', qos: 2, retain: true },
          userProperties: [{ name: 'n', value: 'v' }],
        }),
      ],
      wrong: [
        { ...post(`${PATH}/publish`, { topic: 'm/+', payload: '' }), refused: [400, 'invalid_request'] },
        { ...post(`${PATH}/publish`, { topic: 'm' }), refused: [400, 'invalid_request', 'payload'] },
        {
          ...post(`${PATH}/publish`, '{'),
          headers: { 'content-type': 'application/json' },
          refused: [400, 'invalid_request', 'body'],
        },
        { ...post(`${PATH}/publish`, undefined), refused: [400, 'invalid_request'] },
      ],
    },
    'GET /api/v1/mappings': { right: ['/api/v1/mappings'], wrong: [] },
    'POST /api/v1/mappings:resolve': {
      right: [
        post('/api/v1/mappings:resolve', { topic: 'plant/1/x' }),
        post('/api/v1/mappings:resolve', { filter: 'plant/#' }),
        post('/api/v1/mappings:resolve', { kafkaTopic: 'plant-1', key: 'plant/1/x' }),
      ],
      wrong: [
        { ...post('/api/v1/mappings:resolve', {}), refused: [400, 'invalid_request', 'body'] },
        { ...post('/api/v1/mappings:resolve', { topic: '#' }), refused: [400, 'invalid_request', 'topic'] },
      ],
    },
  },
};
