// Reason codes of MQTT 5 (section 2.4) and the return codes of CONNACK in 3.1 and 3.1.1, and the one table from
// what the hub refuses to what a client is told.
import type { Refusal, TopicErrorCode } from '../port.ts';

export const REASON = {
  SUCCESS: 0x00,
  DISCONNECT_WITH_WILL: 0x04,
  NO_SUBSCRIPTION_EXISTED: 0x11,
  UNSPECIFIED_ERROR: 0x80,
  MALFORMED_PACKET: 0x81,
  PROTOCOL_ERROR: 0x82,
  IMPLEMENTATION_SPECIFIC_ERROR: 0x83,
  UNSUPPORTED_PROTOCOL_VERSION: 0x84,
  CLIENT_IDENTIFIER_NOT_VALID: 0x85,
  BAD_USER_NAME_OR_PASSWORD: 0x86,
  NOT_AUTHORIZED: 0x87,
  SERVER_UNAVAILABLE: 0x88,
  SERVER_BUSY: 0x89,
  SERVER_SHUTTING_DOWN: 0x8b,
  BAD_AUTHENTICATION_METHOD: 0x8c,
  KEEP_ALIVE_TIMEOUT: 0x8d,
  SESSION_TAKEN_OVER: 0x8e,
  TOPIC_FILTER_INVALID: 0x8f,
  TOPIC_NAME_INVALID: 0x90,
  PACKET_IDENTIFIER_NOT_FOUND: 0x92,
  RECEIVE_MAXIMUM_EXCEEDED: 0x93,
  TOPIC_ALIAS_INVALID: 0x94,
  PACKET_TOO_LARGE: 0x95,
  QUOTA_EXCEEDED: 0x97,
  ADMINISTRATIVE_ACTION: 0x98,
  RETAIN_NOT_SUPPORTED: 0x9a,
  SHARED_SUBSCRIPTIONS_NOT_SUPPORTED: 0x9e,
  CONNECTION_RATE_EXCEEDED: 0x9f,
} as const;

/** Return codes of CONNACK in 3.1 and 3.1.1 (3.1.1 table 3.1). */
export const CONNACK_3 = {
  ACCEPTED: 0,
  UNACCEPTABLE_PROTOCOL_VERSION: 1,
  IDENTIFIER_REJECTED: 2,
  SERVER_UNAVAILABLE: 3,
  BAD_USER_NAME_OR_PASSWORD: 4,
  NOT_AUTHORIZED: 5,
} as const;

/** SUBACK's one failure code in 3.1.1 (section 3.9.3); 3.1 has none. */
export const SUBACK_FAILURE_3 = 0x80;

/** From 0x80 on a reason code says that something failed (section 2.4). */
export const isFailure = (reasonCode: number): boolean => reasonCode >= 0x80;

/**
 * What a PUBLISH is answered with when the log does not take it: reason codes that PUBACK and PUBREC may carry
 * (tables 3-4 and 3-5). A 3.1.1 client cannot be told and is disconnected instead [MQTT-3.3.5-2].
 */
export const REFUSAL_REASON: Readonly<Record<Refusal | TopicErrorCode, number>> = {
  'not-leader': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'fenced-epoch': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'unknown-epoch': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'not-enough-replicas': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'not-enough-replicas-after-append': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  timeout: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  storage: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'disk-full': REASON.QUOTA_EXCEEDED,
  'fenced-producer': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'fenced-coordinator': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  duplicate: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  gap: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'invalid-transaction': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'too-large': REASON.QUOTA_EXCEEDED,
  'unknown-topic': REASON.TOPIC_NAME_INVALID,
  exists: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'invalid-name': REASON.TOPIC_NAME_INVALID,
  'invalid-partitions': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'invalid-replication-factor': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'invalid-config': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  limit: REASON.QUOTA_EXCEEDED,
  'internal-topic': REASON.TOPIC_NAME_INVALID,
  declared: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  conflict: REASON.IMPLEMENTATION_SPECIFIC_ERROR,
  'unknown-outcome': REASON.IMPLEMENTATION_SPECIFIC_ERROR,
};
