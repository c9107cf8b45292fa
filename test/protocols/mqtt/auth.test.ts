// AUTH where no method was agreed on: enhanced authentication is not offered (section 4.12).
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { serve } from './front-end-fixture.ts';

it.each([
  ['to authenticate again is told that there is no such method', 'f0 06 19 04 15 0001 61', 0x8c],
  ['with nothing in it breaks the protocol [MQTT-4.12.0-6]', 'f0 00', 0x82],
  ['to go on with what never began breaks the protocol', 'f0 02 18 00', 0x82],
  ['with a reason that there is not breaks the protocol', 'f0 02 17 00', 0x82],
  ['with bytes behind its properties is malformed', 'f0 03 19 00 00', 0x81],
  ['cut short is malformed', 'f0 02 19 04', 0x81],
] as const)('AUTH %s', async (_what, hex, reasonCode) => {
  const { client, expectAlive } = await serve();
  const connected = await client(5);
  // mqtt-packet knows no DISCONNECT 0x8C, which section 2.4 has and section 3.14.2.1 has not.
  const received = once(connected.socket, 'data');
  connected.send(hex);
  const [bytes] = await received;
  expect([...bytes.subarray(0, 1), bytes[2]]).toEqual([0xe0, reasonCode]);
  await expectAlive();
});
