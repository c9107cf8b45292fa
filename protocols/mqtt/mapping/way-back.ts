// What is known of a Kafka topic before any of its records is looked at: how the MQTT topics begin that it may hold, and
// which mapping rules may say which one a record has.
import type { Captures } from './pattern.ts';
import type { CompiledRule } from './rule.ts';

/** What is the same for all records of one Kafka topic. */
export interface KafkaTopicName {
  readonly bytes: Buffer;
  /** The name and a slash: how a key starts that is a topic below it. */
  readonly keyPrefix: Buffer;
  /** Undefined when no rule has to do with the topic; another when there are other rules. */
  readonly wayBack: WayBack | undefined;
}

/** What the rules say of records that do not name their MQTT topic themselves. */
export interface WayBack {
  /** Tells the keys of this topic from those of others. */
  readonly seed: number;
  readonly kafkaTopic: string;
  readonly candidates: readonly { readonly rule: CompiledRule; readonly ofTopic: Captures }[];
}
