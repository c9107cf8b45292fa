// Packet identifiers towards a client and the exchanges at QoS 1 and 2.
import { describe, expect, it } from 'vitest';
import { NO_MAPPINGS } from '../../../protocols/mqtt/mapping/mappings.ts';
import type { FakeClient } from './delivery-fixture.ts';
import { Delivering, settle } from './delivery-fixture.ts';

/** All records of a topic, without the work of publishing them. */
function sendAgain(on: Delivering, client: FakeClient, topic: string): void {
  const partition = on.partition(topic);
  const source = { partition, name: NO_MAPPINGS.nameOf(topic), position: 0, closed: false };
  const reader = on.newReader();
  reader.open(partition.rangeFrom(0, 1 << 20));
  while (reader.next(0)) {
    const match = reader.match(source);
    reader.read(match);
    reader.deliver(client.session, match.deliveries[0]!);
  }
}

describe('packet identifiers towards a client', () => {
  it('roll over and skip those that are in use [FAULTS 40]', async () => {
    const on = new Delivering();
    const client = on.client('c', { version: 4 });
    client.acknowledges = false;
    for (let index = 0; index < 500; index++) on.publish('t', 't', '');
    await settle();
    on.subscribe(client, '#', { qos: 1 });
    on.publish('held', 'held', 'held');
    await settle();
    const held = client.publishes[0]!.messageId!;
    client.packets.length = 0;
    const seen = new Set<number>();
    for (let sent = 0; sent < 66_000; sent += 500) {
      sendAgain(on, client, 't');
      await settle();
      for (const { messageId } of client.publishes) {
        seen.add(messageId!);
        client.session.puback(messageId!);
      }
      client.packets.length = 0;
    }
    expect(client.session.inflightCount).toBe(1);
    expect(seen.has(held)).toBe(false);
    expect(seen.has(0)).toBe(false);
    expect(seen.size).toBe(65_534);
  });

  it('are in use until PUBCOMP, whatever comes in between', async () => {
    const on = new Delivering();
    const client = on.holdingClient('c', '#', { qos: 2 });
    on.publish('t', 't', 'x', { qos: 2 });
    await settle();
    const packetId = client.publishes[0]!.messageId!;
    const { session } = client;
    session.puback(packetId + 1);
    session.pubcomp(packetId + 1);
    expect(session.inflightCount).toBe(1);
    session.pubrec(packetId, 0);
    expect(session.inflightCount).toBe(1);
    session.pubcomp(packetId);
    // A second one frees nothing that is not in use.
    session.pubcomp(packetId);
    expect(session.inflightCount).toBe(0);
  });

  it('are free after an error of PUBREC', async () => {
    const on = new Delivering();
    const client = on.holdingClient('c', '#', { qos: 2 });
    on.publish('t', 't', 'x', { qos: 2 });
    await settle();
    client.session.pubrec(client.publishes[0]!.messageId!, 0x97);
    await settle();
    expect(client.session.inflightCount).toBe(0);
    expect(client.packets.some(({ cmd }) => cmd === 'pubrel')).toBe(false);
  });

  it.each([
    ['PUBACK', 2],
    ['PUBREC', 1],
    ['PUBCOMP', 1],
    ['PUBCOMP', 2],
  ] as const)('answered by a %s that does not fit QoS %i are an error', async (kind, qos) => {
    const on = new Delivering();
    const client = on.holdingClient('c', '#', { qos: 2 });
    on.publish('t', 't', 'x', { qos });
    await settle();
    const packetId = client.publishes[0]!.messageId!;
    const answer = {
      PUBACK: () => client.session.puback(packetId),
      PUBREC: () => client.session.pubrec(packetId, 0),
      PUBCOMP: () => client.session.pubcomp(packetId),
    };
    expect(answer[kind]).toThrow(kind);
  });

  it('that nobody knows are told so by PUBREL and PUBCOMP', async () => {
    const on = new Delivering();
    const client = on.client('c');
    client.acknowledges = false;
    client.session.pubrec(77, 0);
    client.session.pubrel(78);
    await settle();
    expect(client.packets).toMatchObject([
      { cmd: 'pubrel', messageId: 77, reasonCode: 0x92 },
      { cmd: 'pubcomp', messageId: 78, reasonCode: 0x92 },
    ]);
  });
});
