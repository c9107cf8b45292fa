// A partition as the delivering side sees it, and where a session is in it.
import type { Partition } from '../port.ts';
import type { KafkaTopicName } from './mapping/way-back.ts';

export interface LogSource {
  readonly partition: Partition;
  readonly name: KafkaTopicName;
  /** Offset of the next record that goes to live sessions; all before it have been dealt with. */
  readonly position: number;
  /** The topic is gone, or nobody is subscribed to anything. */
  readonly closed: boolean;
}

/** Where a session is behind the live stream of a partition; see catch-up.ts. */
export interface Lag {
  covers(source: LogSource): boolean;
  /** Next offset to send of a partition that is behind. */
  offsetOf(source: LogSource): number | undefined;
  begin(source: LogSource, offset: number): void;
  /** As `begin`, of a session that may be further already: history has been asked for. */
  rewind(source: LogSource, offset: number): void;
  /** As `begin`, of a session whose client has been away; nothing is sent before {@link start}. */
  beginMissed(source: LogSource, offset: number): void;
  start(): void;
  /** Partitions that are behind, and the next offset of each; not those of which history has been asked for. */
  behind(): readonly (readonly [LogSource, number])[];
  /** @returns false when it is there already, or was sent back for history meanwhile. */
  skipTo(source: LogSource, offset: number): boolean;
  /** The session can take messages again. */
  resume(): void;
  close(): void;
}

/** Where a message that is sent lies in the log. Looked at before `deliver` returns, and not kept. */
export interface Origin {
  readonly source: { readonly topicId: string; readonly partition: number };
  readonly sourceOffset: number;
  /** Where it is read, of what is delivered in the order of its log. */
  readonly logSource?: LogSource | undefined;
}

export function placeOf({ source, sourceOffset }: Origin) {
  return { topicId: source.topicId, partition: source.partition, offset: sourceOffset };
}
