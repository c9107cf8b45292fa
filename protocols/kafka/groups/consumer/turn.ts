// One decision about a group of the consumer protocol: the time it is taken at, the topics as they are, and what it
// asks for. A record takes effect in memory at once, so that what is decided next builds on it; the answers wait
// until the log has it.

import { ERROR_CODES, type ErrorCode } from '../../error-codes.ts';
import { applyRecord, type ConsumerGroup, type ConsumerRecord } from './consumer-group.ts';

export interface ConsumerSettings {
  /** group.consumer.session.timeout.ms: a member that is not heard of for so long is out. */
  readonly sessionTimeoutMs: number;
  /** group.consumer.heartbeat.interval.ms: how often members are told to say that they are there. */
  readonly heartbeatIntervalMs: number;
  /** group.consumer.max.size */
  readonly membersMax: number;
}

export interface TopicInfo {
  readonly name: string;
  readonly topicId: string;
  readonly partitions: number;
}

/** The topics that there are. */
export interface TopicImage {
  /** Another one after every change. */
  readonly version: number;
  byName(name: string): TopicInfo | undefined;
  byId(topicId: string): TopicInfo | undefined;
}

/**
 * 'session': it was not heard of; 'rebalance': it did not give up its partitions; 'join' and 'sync': a member of the
 * classic protocol did not come back to join, or to ask for its assignment.
 */
export type ConsumerTimerKind = 'session' | 'rebalance' | 'join' | 'sync';

export interface ConsumerTimer {
  readonly kind: ConsumerTimerKind;
  readonly memberId: string;
  /** undefined = it is taken back. */
  readonly delayMs: number | undefined;
  /** A timer that runs is left as it is. */
  readonly keepsRunning: boolean;
}

export interface ConsumerTurn {
  readonly nowMs: number;
  readonly settings: ConsumerSettings;
  readonly topics: TopicImage;
  readonly records: ConsumerRecord[];
  /** What takes the records back, in the order of the records. */
  readonly undo: ConsumerRecord[];
  readonly timers: ConsumerTimer[];
}

export interface Fault {
  readonly errorCode: Exclude<ErrorCode, typeof ERROR_CODES.NONE>;
  readonly errorMessage: string;
}

export function fault(name: Exclude<keyof typeof ERROR_CODES, 'NONE'>, errorMessage: string): Fault {
  return { errorCode: ERROR_CODES[name], errorMessage };
}

export function write(group: ConsumerGroup, turn: ConsumerTurn, record: ConsumerRecord): void {
  turn.records.push(record);
  turn.undo.push(applyRecord(group, record, turn.nowMs));
}

export function setTimer(
  turn: ConsumerTurn,
  kind: ConsumerTimerKind,
  memberId: string,
  delayMs: number,
): void {
  turn.timers.push({ kind, memberId, delayMs, keepsRunning: false });
}

/** Starts it unless it runs. */
export function ensureTimer(
  turn: ConsumerTurn,
  kind: ConsumerTimerKind,
  memberId: string,
  delayMs: number,
): void {
  turn.timers.push({ kind, memberId, delayMs, keepsRunning: true });
}

export function clearTimer(turn: ConsumerTurn, kind: ConsumerTimerKind, memberId: string): void {
  turn.timers.push({ kind, memberId, delayMs: undefined, keepsRunning: false });
}

export function clearTimers(turn: ConsumerTurn, memberId: string): void {
  for (const kind of ['session', 'rebalance', 'join', 'sync'] as const) clearTimer(turn, kind, memberId);
}
