// Writes one publish as a record (record-mapping.ts says what goes where). One object serves a whole front end: what is to
// be written is set, and `fill` is called before anything else happens.
import type { RecordWriter } from '../port.ts';
import type { MessageProperties } from './packets/message-properties.ts';
import { isReservedName } from './record-mapping.ts';

export class RecordFill {
  /** The MQTT topic, if no mapping rule says otherwise. */
  key: Buffer = EMPTY;
  timestampMs = 0;
  attributes: Uint8Array = EMPTY;
  /** The payload's bytes do not change before the record is in the log. */
  payloadLasts = false;
  /** The attributes' bytes are patched from record to record: the same object does not say that they are the same. */
  attributesChange = false;
  payload: Buffer = EMPTY;
  payloadStart = 0;
  payloadEnd = 0;
  /** Undefined when there are none; positions point into `propertyBytes`. */
  properties: MessageProperties | undefined = undefined;
  propertyBytes: Buffer = EMPTY;

  /** Of the record that was written last. */
  offset = -1;

  /** Bound once, so that no closure is made per publish. */
  readonly fill = (writer: RecordWriter): void => {
    this.offset = writer.nextOffset;
    const { properties, key, timestampMs, payload, payloadStart, payloadEnd, attributes } = this;
    const headers = properties === undefined ? 0 : this.#countHeaders(properties);
    if (this.payloadLasts) writer.lastingSource = payload;
    if (headers === 0 && !this.attributesChange) {
      if (writer.repeatRecord(timestampMs, key, payload, payloadStart, payloadEnd, attributes)) return;
    }
    writer.startRecord(timestampMs, key, 0, key.length, headers);
    if (properties !== undefined && headers > 0) this.#writeHeaders(writer, properties);
    writer.endRecord(payload, payloadStart, payloadEnd, attributes);
  };

  /** User properties in order, duplicates kept; names of the hub's own are dropped. */
  #countHeaders(properties: MessageProperties): number {
    let count = properties.userPropertyCount;
    const { userProperties } = properties;
    for (let at = 0; at < userProperties.length; at += 4) {
      if (isReservedName(this.propertyBytes, userProperties[at]!, userProperties[at + 1]!)) count--;
    }
    return count;
  }

  #writeHeaders(writer: RecordWriter, { userProperties }: MessageProperties): void {
    const bytes = this.propertyBytes;
    for (let at = 0; at < userProperties.length; at += 4) {
      const nameStart = userProperties[at]!;
      const nameEnd = userProperties[at + 1]!;
      if (isReservedName(bytes, nameStart, nameEnd)) continue;
      writer.header(bytes, nameStart, nameEnd, userProperties[at + 2]!, userProperties[at + 3]!);
    }
  }
}

const EMPTY = Buffer.alloc(0);
