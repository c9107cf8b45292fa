// ElectLeaders (key 43), versions 0–2 (KIP-183, KIP-460). The one copy of a partition leads it, or its log did not open
// and nobody does: an election is never needed, and never helps. Topics null = all of them, each without
// the partitions that need none.

import { allows, type Call, defineApi } from '../api.ts';
import { asksTooMuch } from '../asked-partitions.ts';
import { ERROR_CODES, type ErrorCode } from '../error-codes.ts';
import { ElectLeadersRequest, ElectLeadersResponse } from '../messages/elect-leaders.ts';

const PREFERRED = 0;
const UNCLEAN = 1;

type TopicAnswer = ElectLeadersResponse['replicaElectionResults'][number];

interface Outcome {
  readonly errorCode: ErrorCode;
  readonly errorMessage: string;
}

export const electLeaders = defineApi({
  key: 43,
  name: 'ElectLeaders',
  min: 0,
  max: 2,
  request: ElectLeadersRequest,
  response: ElectLeadersResponse,
  handle: handleElectLeaders,
});

function handleElectLeaders(request: ElectLeadersRequest, call: Call): ElectLeadersResponse {
  const { electionType, topicPartitions } = request;
  if (topicPartitions !== null && asksTooMuch(topicPartitions.map(({ partitions }) => partitions.length)))
    return {
      ...(call.version >= 1 ? { errorCode: ERROR_CODES.INVALID_REQUEST } : {}),
      replicaElectionResults: [],
    };
  const refusal = refusalOf(call, electionType);
  if (refusal !== undefined) {
    const replicaElectionResults = resultsOf(topicPartitions ?? [], () => refusal);
    // Version 0 has no error of the whole.
    return { ...(call.version >= 1 ? { errorCode: refusal.errorCode } : {}), replicaElectionResults };
  }
  if (topicPartitions !== null) {
    const elect = (topic: string, partition: number) => outcomeOf(call, topic, partition, electionType);
    return { replicaElectionResults: resultsOf(topicPartitions, elect) };
  }
  const all = call.kafka.hub.topics.list().map(({ name }) => ({ topic: name, partitionResult: [] }));
  return { replicaElectionResults: all };
}

function refusalOf(call: Call, electionType: number): Outcome | undefined {
  if (electionType !== PREFERRED && electionType !== UNCLEAN) {
    const errorMessage = `there is no election of type ${electionType}`;
    return { errorCode: ERROR_CODES.INVALID_REQUEST, errorMessage };
  }
  if (allows(call, 'alter', 'cluster', call.kafka.hub.cluster.clusterId)) return undefined;
  const errorMessage = 'not allowed to alter the cluster';
  return { errorCode: ERROR_CODES.CLUSTER_AUTHORIZATION_FAILED, errorMessage };
}

function resultsOf(
  topics: NonNullable<ElectLeadersRequest['topicPartitions']>,
  outcomeOfPartition: (topic: string, partition: number) => Outcome,
): TopicAnswer[] {
  return topics.map(({ topic, partitions }) => ({
    topic,
    partitionResult: partitions.map((partitionId) => ({
      partitionId,
      ...outcomeOfPartition(topic, partitionId),
    })),
  }));
}

function outcomeOf(call: Call, topic: string, partition: number, electionType: number): Outcome {
  const { topics, cluster } = call.kafka.hub;
  if (topics.partition(topic, partition) === undefined) {
    const errorMessage = `there is no partition ${topic}-${partition}`;
    return { errorCode: ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION, errorMessage };
  }
  if (cluster.leaderOf(topic, partition) >= 0)
    return { errorCode: ERROR_CODES.ELECTION_NOT_NEEDED, errorMessage: 'the only copy leads' };
  const errorCode =
    electionType === PREFERRED
      ? ERROR_CODES.PREFERRED_LEADER_NOT_AVAILABLE
      : ERROR_CODES.ELIGIBLE_LEADERS_NOT_AVAILABLE;
  return { errorCode, errorMessage: `the log of ${topic}-${partition} is not open` };
}
