// Requests that several measurements make, by their schemas: a topic, an append, a fetch from the log's start.
import * as createTopics from '../../protocols/kafka/messages/create-topics.ts';
import { FetchRequest } from '../../protocols/kafka/messages/fetch.ts';
import { ProduceRequest, ProduceResponse } from '../../protocols/kafka/messages/produce.ts';
import { RequestClient, requestFrame } from './request-client.ts';

const NONE = 0;
const CREATE_TOPICS = { key: 19, version: 5 };
const PRODUCE = { key: 0, version: 9 };
const FETCH = { key: 1, version: 12 };

export async function createTopic(kafkaPort: number, name: string, numPartitions: number): Promise<void> {
  const client = await RequestClient.open(kafkaPort);
  const { key, version } = CREATE_TOPICS;
  const answer = await client.ask(
    key,
    version,
    [createTopics.CreateTopicsRequest, createTopics.CreateTopicsResponse],
    { topics: [{ name, numPartitions, replicationFactor: 1, assignments: [], configs: [] }] },
  );
  client.close();
  const [topic] = answer.topics;
  if (topic?.errorCode !== NONE) throw new Error(`topic ${name} was not made: error ${topic?.errorCode}`);
}

const produceOf = (topic: string, records: Buffer) => ({
  ...{ transactionalId: null, acks: -1, timeoutMs: 30_000 },
  topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
});

/** The whole frame; partition 0, acks=all. */
export const produceFrame = (topic: string, records: Buffer): Buffer =>
  requestFrame(PRODUCE.key, PRODUCE.version, ProduceRequest, produceOf(topic, records));

/** The whole frame; partition 0 from offset 0, outside any session. */
export const fetchFrame = (topic: string, maxBytes: number): Buffer =>
  requestFrame(FETCH.key, FETCH.version, FetchRequest, {
    ...{ maxWaitMs: 500, minBytes: 1, maxBytes },
    topics: [{ topic, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: maxBytes }] }],
  });

export async function append(kafkaPort: number, topic: string, records: Buffer): Promise<void> {
  const client = await RequestClient.open(kafkaPort);
  const { key, version } = PRODUCE;
  const answer = await client.ask(key, version, [ProduceRequest, ProduceResponse], produceOf(topic, records));
  client.close();
  const error = answer.responses[0]?.partitionResponses[0]?.errorCode;
  if (error !== NONE) throw new Error(`an append to ${topic}: error ${error}`);
}
