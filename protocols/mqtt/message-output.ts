// A message on its way into what waits for a client's socket: its head is written there, and its payload copied behind it,
// or, where it is large, left where it lies.
import { COPY_BYTES_MAX } from './copy-bytes.ts';
import type { MessageView } from './message-view.ts';
import type { Output } from './output.ts';
import type { OwnProperties } from './packets/own-properties.ts';
import type { QoS, Version } from './packets/publish.ts';
import { firstByteOf, packetLength, writePublishHead } from './packets/publish-writer.ts';

/**
 * Arguments one by one: an object of them would be made for each message.
 * @param length the packet's remaining length, see `publishRemainingLength`
 * @param packetId 0 at QoS 0
 */
export function writeMessage(
  output: Output,
  message: MessageView,
  length: number,
  version: Version,
  qos: QoS,
  retain: boolean,
  packetId: number,
  identifiers: readonly number[],
  own: OwnProperties,
): void {
  const { payload, payloadStart, payloadEnd } = message;
  const payloadLength = payloadEnd - payloadStart;
  const isLarge = payloadLength > COPY_BYTES_MAX;
  const start = output.reserve(packetLength(length) - (isLarge ? payloadLength : 0));
  const first = firstByteOf(qos, retain);
  const at = writePublishHead(
    output.bytes,
    start,
    first,
    length,
    message,
    version,
    packetId,
    identifiers,
    own,
  );
  if (isLarge) {
    output.commit(at - start);
    message.isReferenced = true;
    output.writeReference(payload.subarray(payloadStart, payloadEnd));
    return;
  }
  output.copy(message, at);
  output.commit(at + payloadLength - start);
}
