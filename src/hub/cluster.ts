// Who does what in the cluster. There is one node, yet everyone asks here: when there are several, the answers
// change and the questions do not.
import type { Cluster, Endpoint, Node } from '../../protocols/port.ts';
import { partitionOfKey } from './murmur2.ts';
import type { NumberBlocks } from './number-blocks.ts';
import type { HubTopics } from './topics.ts';

/** Whoever leads the partition of an id in this topic coordinates it. */
const COORDINATION_TOPICS = {
  group: '__consumer_offsets',
  transaction: '__transaction_state',
  session: '__mqtt_sessions',
} as const;

const NO_NODE = -1;

export interface ClusterOptions {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly rack: string | undefined;
  readonly topics: HubTopics;
  readonly producerIds: NumberBlocks;
  /** What this node's clients are told to connect to; undefined = what they reached. */
  readonly advertised: (listener: string) => Endpoint | undefined;
}

export class OneNodeCluster implements Cluster {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly #options: ClusterOptions;
  readonly #nodes: readonly Node[];

  constructor(options: ClusterOptions) {
    this.clusterId = options.clusterId;
    this.nodeId = options.nodeId;
    this.#options = options;
    this.#nodes = [{ nodeId: options.nodeId, rack: options.rack }];
  }

  nodes(): readonly Node[] {
    return this.#nodes;
  }

  /** A partition whose log did not open has no leader. */
  leaderOf(topic: string, partition: number): number {
    const found = this.#options.topics.partition(topic, partition);
    return found?.log === undefined ? NO_NODE : this.nodeId;
  }

  replicasOf(topic: string, partition: number): readonly number[] {
    return this.#options.topics.partition(topic, partition) === undefined ? [] : [this.nodeId];
  }

  controller(): number {
    return this.nodeId;
  }

  coordinatorOf(kind: 'group' | 'transaction' | 'session', id: string): number {
    const name = COORDINATION_TOPICS[kind];
    const topic = this.#options.topics.get(name);
    if (topic === undefined) return NO_NODE;
    return this.leaderOf(name, partitionOfKey(Buffer.from(id, 'utf8'), topic.partitions.length));
  }

  endpoint(nodeId: number, listener: string): Endpoint | undefined {
    return nodeId === this.nodeId ? this.#options.advertised(listener) : undefined;
  }

  allocateProducerId(): Promise<number> {
    return this.#options.producerIds.allocate();
  }
}
