// Where the hub's answers may differ from Apache Kafka's. Each reason stands word for word in protocols/kafka/README.md.

export interface Exception {
  /** Program, number of the step, API and version. */
  readonly request: RegExp;
  /** Of the field. */
  readonly path: RegExp;
  readonly reason: string;
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    request: /(createTopics|describeConfigs) v/,
    path: /configs\[flush\.(ms|messages)\]/,
    reason: '`flush.messages` is 1 and `flush.ms` 1000 by default',
  },
  {
    request: /(createTopics|describeConfigs) v/,
    path: /configs\[min\.insync\.replicas\]/,
    reason: '`min.insync.replicas` is a default of the hub, where Kafka keeps a dynamic one for its cluster',
  },
  {
    request: /^offsets of a group without members #\d+ offsetDelete v0/,
    path: /^(errorCode|topics\[.*\])$/,
    reason: 'A group that has neither members nor offsets is gone at once',
  },
  {
    request: /^producers of transactions #\d+ describeTransactions v0/,
    path: /^transactionStates\[3\]$/,
    reason: 'A transactional id that DescribeTransactions names twice is described once',
  },
  {
    request: /listConfigResources v1/,
    path: /^configResources\[1\]$/,
    reason: 'There are no loggers to list',
  },
];
