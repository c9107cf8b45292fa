// What is written to `__transaction_state`, in Kafka's own formats, so that its tools read our topic: a key is an int16
// version 0 and the transactional id, a value an int16 version 1 and its fields; null = the id is forgotten.
//
// Two tags are ours, which Kafka's readers pass over: 10000, the producer's epoch before (so that a producer that did not
// hear of its new epoch can ask again after a restart), and 10001, the groups whose offsets are in the transaction.

import type { StateRecord } from '../../port.ts';
import { WireError } from '../wire/errors.ts';
import { array, int8, int16, int32, int64, string } from '../wire/fields.ts';
import { message } from '../wire/message.ts';
import { decodeStored, encodeStored } from '../wire/stored-message.ts';
import type { ClientVersion, Transaction, TransactionState } from './transaction.ts';

const KEY_VERSION = 0;
const VALUE_VERSION = 1;

const TransactionKey = message('TransactionLogKey', { versions: [0, 0] }, { transactionalId: string() });

const TransactionValue = message(
  'TransactionLogValue',
  { versions: [0, 1], flexible: 1 },
  {
    producerId: int64(),
    previousProducerId: int64({ versions: '1+', tag: 0, default: -1, ignorable: true }),
    nextProducerId: int64({ versions: '1+', tag: 1, default: -1, ignorable: true }),
    producerEpoch: int16(),
    timeoutMs: int32(),
    status: int8(),
    partitions: array({ topic: string(), partitionIds: array(int32()) }, { nullable: '0+' }),
    lastUpdateTimestampMs: int64(),
    startTimestampMs: int64(),
    clientTransactionVersion: int16({ versions: '1+', tag: 2, default: 0, ignorable: true }),
    lastProducerEpoch: int16({ versions: '1+', tag: 10_000, default: -1, ignorable: true }),
    groups: array(string(), { versions: '1+', tag: 10_001, ignorable: true }),
  },
);

const STATUS: Readonly<Record<TransactionState, number>> = {
  empty: 0,
  ongoing: 1,
  'prepare-commit': 2,
  'prepare-abort': 3,
  'complete-commit': 4,
  'complete-abort': 5,
};

// Its keys are the states themselves.
const STATES = new Map(Object.entries(STATUS).map(([state, status]) => [status, state as TransactionState]));

/** Undefined when a name in it is longer than a record's may be: what clients send may be that long. */
export function encodeTransaction(
  transactionalId: string,
  transaction: Transaction | null,
): StateRecord | undefined {
  try {
    const key = encodeStored(KEY_VERSION, TransactionKey, { transactionalId });
    return { key, value: transaction === null ? null : encodeValue(transaction) };
  } catch (error) {
    if (error instanceof WireError && error.code === 'unrepresentable') return undefined;
    throw error;
  }
}

function encodeValue(transaction: Transaction): Buffer {
  const { state, partitions, groups, updatedAtMs, startedAtMs, clientVersion, ...same } = transaction;
  return encodeStored(VALUE_VERSION, TransactionValue, {
    ...same,
    status: STATUS[state],
    partitions: [...partitions].map(([topic, ids]) => ({ topic, partitionIds: [...ids] })),
    lastUpdateTimestampMs: updatedAtMs,
    startTimestampMs: startedAtMs,
    clientTransactionVersion: clientVersion,
    groups: [...groups],
  });
}

/** Undefined when it is no key of ours. */
export function decodeKey(key: Buffer): string | undefined {
  return decodeStored(key, (reader, version) =>
    version === KEY_VERSION ? TransactionKey.read(reader, version).transactionalId : undefined,
  );
}

/** Undefined when it does not decode. */
export function decodeValue(transactionalId: string, bytes: Buffer): Transaction | undefined {
  return decodeStored(bytes, (reader, version) => {
    const value = TransactionValue.read(reader, version);
    const state = STATES.get(value.status);
    const clientVersion = clientVersionOf(value.clientTransactionVersion);
    if (state === undefined || clientVersion === undefined) return undefined;
    const { producerId, producerEpoch, previousProducerId, nextProducerId, lastProducerEpoch, timeoutMs } =
      value;
    return {
      ...{ transactionalId, state, producerId, producerEpoch, previousProducerId, nextProducerId },
      ...{ lastProducerEpoch, timeoutMs, clientVersion },
      partitions: new Map(
        (value.partitions ?? []).map(({ topic, partitionIds }) => [topic, new Set(partitionIds)]),
      ),
      groups: new Set(value.groups),
      startedAtMs: value.startTimestampMs,
      updatedAtMs: value.lastUpdateTimestampMs,
    };
  });
}

function clientVersionOf(version: number): ClientVersion | undefined {
  return version === 0 || version === 1 || version === 2 ? version : undefined;
}
