// A partition as the delivering side sees it.
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
