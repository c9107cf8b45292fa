// Arrays that would take much memory are decoded as they are looked at: nobody who goes through one can tell.
import { expect, test } from 'vitest';
import { WireError } from '../../../../protocols/kafka/wire/errors.ts';
import { array, int32, string } from '../../../../protocols/kafka/wire/fields.ts';
import { message } from '../../../../protocols/kafka/wire/message.ts';
import { WireReader } from '../../../../protocols/kafka/wire/reader.ts';
import { WireWriter } from '../../../../protocols/kafka/wire/writer.ts';

const Request = message(
  'Request',
  { versions: [0, 1], flexible: 1 },
  { topics: array({ name: string(), partitions: array({ index: int32(), text: string() }) }), last: int32() },
);

/** So that there are bytes for what is made of them. */
const TEXT = ' of some length, in each of its partitions';

const topicOf = (index: number, partitions = 2, text = TEXT) => ({
  name: `t${index}`,
  partitions: Array.from({ length: partitions }, (_none, at) => ({
    index: index + at,
    text: `${at}${text}`,
  })),
});
const topicsOf = (count: number) => Array.from({ length: count }, (_none, index) => topicOf(index));

function encode(version: number, topics: readonly ReturnType<typeof topicOf>[]): Buffer {
  const writer = new WireWriter();
  Request.write(writer, version, { topics, last: 7 });
  return Buffer.from(writer.take());
}

/** Made anew each time that it is looked at. */
const isLazy = (list: readonly unknown[]): boolean => new Set([list[0], list[0]]).size > 1;

test.each([0, 1])(
  'version %i: what is large has the same elements, from wherever they are looked at',
  (version) => {
    const topics = topicsOf(5_000);
    const value = Request.read(new WireReader(encode(version, topics)), version);
    expect(isLazy(value.topics)).toBe(true);
    expect(value.last).toBe(7);
    expect(value.topics.length).toBe(5_000);
    expect(Array.isArray(value.topics)).toBe(true);
    expect([...value.topics]).toEqual(topics);
    expect(value.topics.map(({ name }) => name)).toEqual(topics.map(({ name }) => name));
    expect(value.topics.flatMap(({ partitions }) => partitions).length).toBe(10_000);
    for (const index of [4_999, 0, 63, 64, 65, 1_000, 999, 1_001])
      expect(value.topics[index]).toEqual(topics[index]);
    expect(value.topics[5_000]).toBe(undefined);
    expect(value.topics[-1]).toBe(undefined);
    expect(value.topics.at(-1)).toEqual(topics[4_999]);
    expect(value.topics.slice(10, 12)).toEqual(topics.slice(10, 12));
    expect(value.topics.some(({ name }) => name === 't4999')).toBe(true);
    expect([...value.topics.entries()][3]).toEqual([3, topics[3]]);
  },
);

test('what is small is decoded at once, and what is large inside of one element is not', () => {
  expect(isLazy(Request.read(new WireReader(encode(1, topicsOf(10))), 1).topics)).toBe(false);
  const [topic] = Request.read(new WireReader(encode(1, [topicOf(0, 9_000, '')])), 1).topics;
  expect(isLazy(topic!.partitions)).toBe(true);
  expect(topic!.partitions[8_999]).toEqual({ index: 8_999, text: '8999' });
});

test('what is wrong with any element is said at once', () => {
  const bytes = encode(1, topicsOf(5_000));
  for (const length of [bytes.length - 1, bytes.length - 5, bytes.length >> 1]) {
    expect(() => Request.read(new WireReader(bytes.subarray(0, length)), 1)).toThrow(WireError);
  }
});

test('a reader that goes on to the next frame leaves the elements of the last one as they are', () => {
  const reader = new WireReader(encode(1, topicsOf(5_000)));
  const { topics } = Request.read(reader, 1);
  reader.reset(encode(1, [topicOf(77)]));
  expect(Request.read(reader, 1).topics).toEqual([topicOf(77)]);
  expect(topics[4_000]).toEqual(topicOf(4_000));
});
