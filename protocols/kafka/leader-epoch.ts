// What a client believes of a partition's leader, checked against what is (KIP-320).

import type { Partition } from '../port.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** @param epoch the client's; −1 = it does not say. */
export function leaderEpochFault(partition: Pick<Partition, 'leaderEpoch'>, epoch: number): ErrorCode {
  if (epoch < 0 || epoch === partition.leaderEpoch) return ERROR_CODES.NONE;
  return epoch < partition.leaderEpoch ? ERROR_CODES.FENCED_LEADER_EPOCH : ERROR_CODES.UNKNOWN_LEADER_EPOCH;
}
