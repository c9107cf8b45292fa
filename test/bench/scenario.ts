// What a measurement is, as data: a load, the number of its result that counts, and the bars that it is held to. Those that
// are code are probes (probe.ts).

/** The load generators of load/, and Apache's own clients. */
export type Generator = 'kafka-load' | 'transaction-load' | 'mqtt-load' | 'producer-perf' | 'consumer-perf';

/** The numbers of a result that may be compared, each with what it is told in. */
export const METRICS = {
  recordsPerSecond: 'records/s',
  deliveredPerSecond: 'deliveries/s',
  megabytesPerSecond: 'MB/s',
  batchesPerFlush: 'batches a flush',
  p50Ms: 'ms p50',
  p99Ms: 'ms p99',
  p99BeyondFlushMs: 'ms p99 beyond the flush',
  ms: 'ms',
  moreMs: 'ms more',
  readKiB: 'KiB read',
  indexPercent: '% of the log',
  brokerResidentMiB: 'MiB',
  peakResidentMiB: 'MiB at most',
  residentGrowthMiB: 'MiB grown',
  idleConnectionKiB: 'KiB a connection',
  partitionKiB: 'KiB a partition',
  openFiles: 'files',
  megabytes: 'MB',
  cpuPercent: '% of a processor',
} as const;

export type Metric = keyof typeof METRICS;

export interface Bar {
  /** Name of the peer, or of another way of the row … */
  readonly against?: string;
  /** … or of another row, for the hub against itself; without either the hub's number is held to another number. */
  readonly againstRow?: string;
  /** … or to the slowest of what else the row measures. */
  readonly againstSlowest?: true;
  readonly metric: Metric;
  /** Of hub / peer, or of the hub's number: at least, or at most, so much. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Load {
  readonly generator: Generator;
  /** Without port, topic, process and count. */
  readonly args: readonly string[];
  /** Runs beside the load until it has seen as many records: its result is the row's. */
  readonly beside?: { readonly generator: Generator; readonly args: readonly string[] };
}

export interface Measurement {
  readonly name: string;
  readonly metric: Metric;
  readonly bars: readonly Bar[];
  /** In one round, without one before that does not count: what is asked is what a fresh broker does. */
  readonly isOnce?: boolean;
  /** Takes minutes: measured only when `--only` names it. */
  readonly isLong?: boolean;
}

export interface LoadScenario extends Measurement {
  /** What must be in the topic before. */
  readonly prepare?: Load;
  readonly load: Load;
  /** Records (of `transaction-load`: transactions) of one measured run at most; loads that can be cut short end after {@link SECONDS_MAX}. */
  readonly records: number;
  /** Peers that cannot do it, or that nobody asks about. */
  readonly notFor?: readonly string[];
  /** Other loads that the hub has in the same turns, before this one, each with what fills its topic. */
  readonly variants?: Readonly<Record<string, Pick<LoadScenario, 'load' | 'prepare'>>>;
  /** The load keeps a pace: such a share of the rate that a variant has just reached. */
  readonly pace?: { readonly of: string; readonly share: number };
  /**
   * What plain Node would do: so many groups of so many bytes, each written and then fdatasynced. A group is
   * what the clients keep in flight, the most that one flush can serve. With a pace, what has come shares a flush.
   */
  readonly baseline?: Group;
}

export interface Group {
  readonly groupBytes: number;
  readonly groupRecords: number;
}

/** What a load, or a way, reports. */
export interface Result extends Readonly<Partial<Record<Metric, number>>> {
  readonly records?: number;
  readonly loadCpuSeconds?: number;
  readonly brokerCpuSeconds?: number;
  /** How something went over time. */
  readonly series?: readonly SeriesPoint[];
}

export interface SeriesPoint {
  readonly atSeconds: number;
  readonly residentMiB: number;
  readonly cpuPercent: number;
}

export const PLAIN_NODE = 'plain Node';

/** Of one run of a closed loop: a broker that is ten times slower is measured for as long as a fast one. */
export const SECONDS_MAX = 3;
