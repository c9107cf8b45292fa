// What a Kafka front end can be told, each with its default. Sizes are bytes, times milliseconds.

import type { CoordinatorSettings } from './groups/coordinator.ts';
import type { OffsetSettings } from './groups/offsets.ts';

export interface KafkaSettings {
  /** Longest request; a longer one closes its connection before anything is buffered. */
  readonly requestBytesMax: number;
  /** Requests of one connection that are taken and not answered; beyond it the socket is not read. */
  readonly unansweredRequestsMax: number;
  /** Answers of one connection that its peer has not read; beyond it no further request is taken. */
  readonly writeBacklogBytesMax: number;
  /** Records of one connection that are appended and not acknowledged; beyond it no further request is taken. */
  readonly heldBytesMax: number;
  /** A connection without traffic and without a request under way is closed after this; 0 = never. */
  readonly idleTimeoutMs: number;
  /** Record data in one Fetch answer, whatever the client asks for; the first batch may be larger. */
  readonly fetchBytesMax: number;
  /** Longest that a Fetch may wait. */
  readonly fetchMaxWaitMs: number;
  /** Records of one batch after decompression. */
  readonly decompressedBytesMax: number;
  readonly groups: CoordinatorSettings;
  readonly offsets: OffsetSettings;
}

export type KafkaOptions = Partial<Omit<KafkaSettings, 'groups' | 'offsets'>> & {
  readonly groups?: Partial<CoordinatorSettings>;
  readonly offsets?: Partial<OffsetSettings>;
};

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const MINUTE_MS = 60_000;

const DEFAULTS: KafkaSettings = {
  requestBytesMax: 100 * MEBIBYTE,
  unansweredRequestsMax: 256,
  writeBacklogBytesMax: 16 * MEBIBYTE,
  heldBytesMax: 64 * MEBIBYTE,
  idleTimeoutMs: 10 * MINUTE_MS,
  fetchBytesMax: 16 * MEBIBYTE,
  fetchMaxWaitMs: 5 * MINUTE_MS,
  decompressedBytesMax: 64 * MEBIBYTE,
  groups: {
    minSessionTimeoutMs: 6_000,
    maxSessionTimeoutMs: 30 * MINUTE_MS,
    initialRebalanceDelayMs: 3_000,
    membersMax: 1_000,
    groupsMax: 10_000,
    memberBytesMax: 256 * KIBIBYTE,
    assignmentBytesMax: 4 * MEBIBYTE,
  },
  offsets: {
    metadataBytesMax: 4_096,
    retentionMs: 7 * 24 * 60 * MINUTE_MS,
    retentionCheckMs: 10 * MINUTE_MS,
  },
};

export function kafkaSettings(options: KafkaOptions): KafkaSettings {
  return {
    ...DEFAULTS,
    ...options,
    groups: { ...DEFAULTS.groups, ...options.groups },
    offsets: { ...DEFAULTS.offsets, ...options.offsets },
  };
}
