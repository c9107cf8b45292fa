// What a measurement is, as data: a load, the number of its result that counts, and the bars that it is held to.

/** The load generators of load/, and Apache's own clients. */
export type Generator = 'kafka-load' | 'transaction-load' | 'mqtt-load' | 'producer-perf' | 'consumer-perf';

/** The numbers of a result that may be compared. */
export type Metric =
  | 'recordsPerSecond'
  | 'deliveredPerSecond'
  | 'p99Ms'
  | 'brokerResidentMiB'
  | 'residentGrowthMiB'
  | 'idleConnectionKiB';

export interface Bar {
  /** Name of the peer … */
  readonly against?: string;
  /** … or of another row, for the hub against itself; without either the hub's number is held to another number. */
  readonly againstRow?: string;
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

export interface Scenario {
  readonly name: string;
  /** What must be in the topic before. */
  readonly prepare?: Load;
  readonly load: Load;
  /** Records (of `transaction-load`: transactions) of one measured run at most; loads that can be cut short end after {@link SECONDS_MAX}. */
  readonly records: number;
  readonly metric: Metric;
  readonly bars: readonly Bar[];
  /** Peers that cannot do it, or that nobody asks about. */
  readonly notFor?: readonly string[];
  /** In one round, without one before that does not count: what is asked is what a fresh broker does. */
  readonly isOnce?: boolean;
  /** Takes minutes: measured only when `--only` names it. */
  readonly isLong?: boolean;
  /**
   * What plain Node would do: so many groups of so many bytes, each written and then fdatasynced. A group is
   * what the clients keep in flight, the most that one flush can serve.
   */
  readonly baseline?: { readonly groupBytes: number; readonly groupRecords: number };
}

/** Of one run of a closed loop: a broker that is ten times slower is measured for as long as a fast one. */
export const SECONDS_MAX = 3;
