// Which topic configs are accepted, and what is in effect.
import { expect, test } from 'vitest';
import {
  changedConfig,
  checkTopicConfig,
  effectiveTopicConfig,
  logConfigOf,
  valueInEffect,
} from '../../../src/hub/topic-configs.ts';

test.each([
  ['segment.bytes', '1048576'],
  ['max.message.bytes', '0'],
  ['message.timestamp.type', 'LogAppendTime'],
  ['cleanup.policy', 'delete'],
  ['cleanup.policy', 'compact'],
  ['cleanup.policy', 'compact, delete'],
  ['cleanup.policy', ''],
  ['min.insync.replicas', '2'],
  ['retention.ms', '1000'],
  ['retention.ms', '-1'],
  ['retention.bytes', '-1'],
  ['flush.messages', '9223372036854775807'],
  ['min.cleanable.dirty.ratio', '0.1'],
])('%s=%s is honoured, so it is accepted', (name, value) => {
  expect(checkTopicConfig({ [name]: value })).toBeUndefined();
});

test.each([
  ['compression.type', 'producer'],
  ['remote.storage.enable', 'FALSE'],
  ['compression.type', 'uncompressed'],
  ['file.delete.delay.ms', '0'],
])('%s=%s says what happens anyway, so it is accepted', (name, value) => {
  expect(checkTopicConfig({ [name]: value })).toBeUndefined();
});

test.each([
  ['compression.type', 'zstd'],
  ['preallocate', 'true'],
])('%s=%s would have no effect, so it is refused', (name, value) => {
  expect(checkTopicConfig({ [name]: value })).toContain('has no effect here');
});

test.each([
  ['retention.ms', 'abc', 'an integer from -1'],
  ['retention.ms', '-2', 'an integer'],
  ['retention.ms', '9223372036854775808', 'an integer'],
  ['retention.bytes', '1.5', 'an integer'],
  ['segment.bytes', '1', 'an integer from 1024 to 2147483647'],
  ['segment.bytes', '2147483648', 'an integer'],
  ['max.message.bytes', '-1', 'an integer from 0'],
  ['message.timestamp.type', 'Never', 'one of CreateTime, LogAppendTime'],
  ['cleanup.policy', 'shred', 'a list of compact, delete'],
  ['cleanup.policy', 'compact,', 'a list of compact, delete'],
  ['min.insync.replicas', '0', 'an integer from 1'],
  ['compression.type', 'brotli', 'one of'],
  ['min.cleanable.dirty.ratio', '2', 'a number from 0 to 1'],
  ['unclean.leader.election.enable', 'maybe', 'true or false'],
])('%s=%s is out of range', (name, value, wanted) => {
  expect(checkTopicConfig({ [name]: value })).toContain(`must be ${wanted}`);
});

test('a name that Kafka does not know is refused', () => {
  expect(checkTopicConfig({ 'retention.sm': '-1' })).toBe('unknown topic config "retention.sm"');
});

test("in effect is the topic's own value, else the hub's default, else Kafka's", () => {
  const own = { 'segment.bytes': ' 2048 ' };
  const defaults = { 'segment.bytes': '4096', 'message.timestamp.type': 'LogAppendTime' };
  expect(effectiveTopicConfig(own, defaults)).toEqual({
    cleanupPolicy: 'delete',
    maxMessageBytes: 1048588,
    messageTimestampType: 'LogAppendTime',
    messageTimestampBeforeMaxMs: Number.POSITIVE_INFINITY,
    messageTimestampAfterMaxMs: 3_600_000,
    minInsyncReplicas: 1,
  });
  expect(logConfigOf(own, defaults).segmentBytes).toBe(2048);
  expect(valueInEffect('max.message.bytes', own, defaults)).toBe('1048588');
});

test('what has no limit is Infinity to the store', () => {
  expect(logConfigOf({ 'retention.ms': '-1', 'flush.ms': '9223372036854775807' }, {})).toMatchObject({
    retentionMs: Number.POSITIVE_INFINITY,
    flushMs: Number.POSITIVE_INFINITY,
    retentionBytes: Number.POSITIVE_INFINITY,
  });
});

test('a list of policies is both of them, in any order and spacing', () => {
  const own = { 'cleanup.policy': 'delete, compact' };
  expect(effectiveTopicConfig(own, {}).cleanupPolicy).toBe('compact,delete');
  expect(logConfigOf(own, {})).toMatchObject({ compacts: true, deletes: true });
  expect(logConfigOf({}, {})).toMatchObject({ compacts: false, deletes: true });
});

test('an empty list of policies keeps everything', () => {
  expect(logConfigOf({ 'cleanup.policy': '' }, {})).toMatchObject({ deletes: false, compacts: false });
});

const change = (name: string, operation: 'set' | 'delete' | 'append' | 'subtract', value = '') => [
  { name, operation, value },
];

test('a change sets and deletes entries, and appends to and subtracts from what is in effect', () => {
  const own = { 'retention.ms': '1' };
  const changed = (changes: ReturnType<typeof change>) => changedConfig(own, {}, changes);
  expect(changed(change('retention.ms', 'set', '2'))).toEqual({ config: { 'retention.ms': '2' } });
  expect(changed(change('retention.ms', 'delete'))).toEqual({ config: {} });
  expect(changed(change('no.such', 'delete'))).toEqual({ config: own });
  expect(changed(change('cleanup.policy', 'append', 'compact,delete'))).toEqual({
    config: { ...own, 'cleanup.policy': 'delete,compact' },
  });
  expect(changed(change('cleanup.policy', 'subtract', 'delete'))).toEqual({
    config: { ...own, 'cleanup.policy': '' },
  });
});

test.each([
  [change('retention.ms', 'append', '5'), 'is no list'],
  [change('retention.ms', 'set', 'soon'), 'must be an integer'],
  [change('no.such', 'set', '1'), 'unknown topic config'],
  [change('__proto__', 'set', '1'), 'unknown topic config'],
  [change('constructor', 'append', '1'), 'unknown topic config'],
  [change('cleanup.policy', 'append', 'shred'), 'a list of'],
  [[...change('min.compaction.lag.ms', 'set', '9'), ...change('max.compaction.lag.ms', 'set', '8')], 'above'],
])('a change that cannot be made says why: %j', (changes, problem) => {
  expect(changedConfig({}, {}, changes)).toEqual({ problem: expect.stringContaining(problem) });
});
