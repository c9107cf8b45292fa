// Finished clients over real sockets: kafkajs and @platformatic/kafka, from topic to committed offset.

import { describe, expect, test } from 'vitest';
import { npmKafkaClients, type PlainRecord } from '../../helpers/kafka-clients.ts';
import { openTestKafka } from './kafka-fixture.ts';

const text = (value: string): Buffer => Buffer.from(value);

describe.each(npmKafkaClients)('$name', (client) => {
  test('produces to a topic that is made by first use, and consumes it in a group', async () => {
    const { port } = await openTestKafka();
    const records: PlainRecord[] = [
      { key: text('k'), value: text('v'), headers: [['h', text('1')]] },
      { key: null, value: text(''), headers: [] },
      { key: text(''), value: null, headers: [] },
    ];
    await client.produce(port, 'first-use', records);
    expect(await client.consume(port, 'group', 'first-use', 3)).toEqual(records);
  });
});
