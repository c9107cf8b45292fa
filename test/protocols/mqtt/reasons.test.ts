// Answers in words, and what else a client of MQTT 5 asks CONNACK for (sections 3.1.2.11.6 and 3.1.2.11.7).
import { expect, it } from 'vitest';
import type { Connected } from './front-end-fixture.ts';
import { serve } from './front-end-fixture.ts';

async function refusedPublish(client: Connected, qos: 1 | 2) {
  client.send({ cmd: 'publish', topic: '__own', payload: 'x', qos, messageId: 3, dup: false, retain: false });
  return client.expect(qos === 1 ? 'puback' : 'pubrec');
}

it.each([1, 2] as const)('a publish that is refused at QoS %i is told why [MQTT-3.1.2-29]', async (qos) => {
  const { client } = await serve();
  const answer = await refusedPublish(await client(5), qos);
  expect(answer).toMatchObject({ reasonCode: 0x90 });
  expect(answer.properties?.reasonString).toContain('__own');
});

it.each([
  ['does not want words', { requestProblemInformation: false }],
  ['takes no packet of the size [MQTT-3.4.2-2]', { maximumPacketSize: 25 }],
])('in a number alone, when the client %s', async (_what, properties) => {
  const { client } = await serve();
  const connected = await client(5, { properties }).catch(() => undefined);
  // CONNACK itself may not fit.
  if (connected === undefined) return;
  const answer = await refusedPublish(connected, 1);
  expect(answer).toMatchObject({ reasonCode: 0x90 });
  expect(answer.properties?.reasonString).toBeUndefined();
});

it.each([
  [true, 'A filter beyond the limits of levels, bytes or wildcards'],
  [false, undefined],
])('a subscription that is refused is told why, if the client wants it (%s)', async (wanted, reason) => {
  const { client } = await serve({ topicLevelsMax: 2 });
  const connected = await client(5, { properties: { requestProblemInformation: wanted } });
  connected.send({ cmd: 'subscribe', messageId: 4, subscriptions: [{ topic: 'a/b/c', qos: 1 }] });
  const suback = await connected.expect('suback');
  expect(suback.granted).toEqual([0x8f]);
  expect(suback.properties?.reasonString).toBe(reason);
});

it('response information is a topic of the client’s own, for those who ask', async () => {
  const { client } = await serve();
  const properties = { requestResponseInformation: true };
  const asked = await client(5, { clientId: 'a/+b', properties });
  expect(asked.connack.properties?.responseInformation).toBe('response/a__b/');
  expect((await client(5)).connack.properties?.responseInformation).toBeUndefined();
});
