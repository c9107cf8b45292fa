// How topics are shown: an item of the list, and one topic with its configuration and the tag that a change may name.
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Topics, TopicView } from '../../protocols/port.ts';
import { count } from './shapes.ts';

export const topicItemShape = z
  .strictObject({
    topic: z.string(),
    topicId: z.string(),
    partitions: count,
    internal: z.boolean().meta({ description: "The hub's own state, not to be written." }),
    declared: z.boolean().meta({ description: 'By the configuration file, where alone it is changed.' }),
    cleanupPolicy: z.enum(['delete', 'compact', 'compact,delete', 'none']),
    bytes: count.meta({ description: 'On disk.' }),
    segments: count,
    records: count.meta({
      description: 'Offsets that readers see; fewer records when the topic is compacted or has transactions.',
    }),
  })
  .meta({ id: 'TopicSummary', description: 'A topic, and how much is in it.' });

export const topicShape = z
  .strictObject({
    ...topicItemShape.shape,
    config: z.array(
      z.strictObject({
        name: z.string(),
        value: z.string().meta({ description: 'In effect.' }),
        source: z.enum(['topic', 'hub', 'default']).meta({ description: 'Who says so.' }),
        default: z.string().meta({ description: 'What counts when the topic says nothing.' }),
      }),
    ),
  })
  .meta({
    id: 'Topic',
    description: 'A topic with its configuration.',
    examples: [
      {
        topic: 'telemetry',
        topicId: '0b8f4d1e-7c1f-4c55-9f0e-2f5d6c3f1a77',
        partitions: 12,
        internal: false,
        declared: false,
        cleanupPolicy: 'delete',
        bytes: 81920,
        segments: 12,
        records: 950,
        config: [{ name: 'retention.ms', value: '86400000', source: 'topic', default: '604800000' }],
      },
    ],
  });

export function topicItem(topic: TopicView, topics: Topics): z.output<typeof topicItemShape> {
  let bytes = 0;
  let segments = 0;
  let records = 0;
  for (const partition of topic.partitions) {
    bytes += partition.byteSize;
    segments += partition.segmentCount;
    records += Math.max(0, partition.highWatermark - partition.logStartOffset);
  }
  return {
    ...{ topic: topic.name, topicId: topic.topicId, partitions: topic.partitions.length },
    ...{ internal: topic.internal, declared: topics.declaredAt(topic.name) !== undefined },
    ...{ cleanupPolicy: topic.config.cleanupPolicy, bytes, segments, records },
  };
}

export function topicDetail(topic: TopicView, topics: Topics): z.output<typeof topicShape> {
  const config = (topics.describeConfig(topic.name) ?? []).map(
    ({ name, value, source, hubValue, defaultValue }) => ({
      ...{ name, value, source, default: hubValue ?? defaultValue },
    }),
  );
  return { ...topicItem(topic, topics), config };
}

/** The same as long as nobody changes what can be changed: the topic made again, its partitions, its configuration. */
export function entityTag(topic: TopicView, topics: Topics): string {
  const own = (topics.describeConfig(topic.name) ?? [])
    .filter(({ source }) => source === 'topic')
    .map(({ name, value }) => [name, value]);
  const state = JSON.stringify([topic.topicId, topic.partitions.length, own]);
  return `"${createHash('sha256').update(state).digest('base64url').slice(0, 22)}"`;
}

/** Whether `If-Match` names the tag (RFC 9110 §13.1.1); without the header it does. */
export function isMatch(header: string | undefined, tag: string): boolean {
  if (header === undefined || header.trim() === '*') return true;
  return header.split(',').some((each) => each.trim() === tag);
}
