// What the coordinators of groups and of transactions share: whether their state is here, and what a client is told when
// it could not be written.
import type { StateTable } from '../port.ts';
import { APPEND_ERROR_CODES, ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** 14 while the id's state is read, 16 when it is another node's, else 0. */
export function availabilityOf(table: StateTable, id: string): ErrorCode {
  const state = table.stateOf(table.partitionOf(id));
  if (state === 'serving') return ERROR_CODES.NONE;
  return state === 'loading' ? ERROR_CODES.COORDINATOR_LOAD_IN_PROGRESS : ERROR_CODES.NOT_COORDINATOR;
}

/** As Kafka's coordinators. @param tooLarge what is told of a record that the topic takes none of that size */
export function coordinatorCode(refused: keyof typeof APPEND_ERROR_CODES, tooLarge: ErrorCode): ErrorCode {
  switch (APPEND_ERROR_CODES[refused]) {
    case ERROR_CODES.NOT_LEADER_OR_FOLLOWER:
    case ERROR_CODES.FENCED_LEADER_EPOCH:
      return ERROR_CODES.NOT_COORDINATOR;
    case ERROR_CODES.MESSAGE_TOO_LARGE:
      return tooLarge;
    default:
      return ERROR_CODES.COORDINATOR_NOT_AVAILABLE;
  }
}
