// Legal, reserved and colliding topic names.
import { expect, test } from 'vitest';
import { collisionKeyOf, illegalTopicName, isReservedTopicName } from '../../../src/hub/topic-names.ts';

test.each(['a', 'A.b_c-9', '...', 'x'.repeat(249), '__mine'])('%s is a legal topic name', (name) => {
  expect(illegalTopicName(name)).toBeUndefined();
});

test.each([
  ['', 'must not be empty'],
  ['.', 'must not be "."'],
  ['..', 'must not be "."'],
  ['x'.repeat(250), 'at most 249 characters'],
  ['a/b', 'consists of'],
  ['größe', 'consists of'],
  ['a b', 'consists of'],
  ['a\n', 'consists of'],
  ['a\0', 'consists of'],
])('%j is no topic name', (name, reason) => {
  expect(illegalTopicName(name)).toContain(reason);
});

test('names that differ in "." and "_" alone collide', () => {
  expect(collisionKeyOf('a.b_c')).toBe(collisionKeyOf('a_b.c'));
  expect(collisionKeyOf('a-b')).not.toBe(collisionKeyOf('a_b'));
});

test("the hub's own topics and Kafka's are reserved, other underscores are not", () => {
  expect(['__consumer_offsets', '__mqtt_retained', '__cluster_metadata'].every(isReservedTopicName)).toBe(
    true,
  );
  expect(['__debezium-heartbeat.x', '_schemas', 'consumer_offsets'].some(isReservedTopicName)).toBe(false);
});
