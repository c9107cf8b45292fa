// The properties that travel with a message: of a PUBLISH (section 3.3.2.3) and of a will (section 3.1.3.2). Read to
// positions, so that a publish is written to the log from the packet's own bytes.
import { protocolError } from '../errors.ts';
import { PROPERTY, PropertyCursor } from './properties.ts';

/** −1 stands for absent, in positions and numbers alike. Reused from packet to packet. */
export class MessageProperties {
  payloadFormat = -1;
  expirySeconds = -1;
  topicAlias = -1;
  willDelaySeconds = -1;
  contentTypeStart = -1;
  contentTypeEnd = -1;
  responseTopicStart = -1;
  responseTopicEnd = -1;
  correlationDataStart = -1;
  correlationDataEnd = -1;
  userPropertyCount = 0;
  /** Of names and values. */
  userPropertyBytes = 0;
  /** Name start, name end, value start, value end of each user property, in order. */
  readonly userProperties: number[] = [];

  readonly #cursor = new PropertyCursor();

  clear(): void {
    this.payloadFormat = -1;
    this.expirySeconds = -1;
    this.topicAlias = -1;
    this.willDelaySeconds = -1;
    this.contentTypeStart = -1;
    this.contentTypeEnd = -1;
    this.responseTopicStart = -1;
    this.responseTopicEnd = -1;
    this.correlationDataStart = -1;
    this.correlationDataEnd = -1;
    this.userPropertyCount = 0;
    this.userPropertyBytes = 0;
    this.userProperties.length = 0;
  }

  /** Whether there is anything beside user properties. */
  get hasMore(): boolean {
    return (
      this.payloadFormat >= 0 ||
      this.expirySeconds >= 0 ||
      this.contentTypeStart >= 0 ||
      this.responseTopicStart >= 0 ||
      this.correlationDataStart >= 0
    );
  }

  /** @param place PLACE.PUBLISH or PLACE.WILL. */
  read(bytes: Buffer, start: number, end: number, place: number): void {
    this.clear();
    if (start === end) return;
    const cursor = this.#cursor;
    cursor.open(bytes, start, end, place);
    while (cursor.next()) this.#take(bytes, cursor);
    cursor.close();
  }

  #take(bytes: Buffer, cursor: PropertyCursor): void {
    const { valueStart, valueEnd } = cursor;
    switch (cursor.id) {
      case PROPERTY.PAYLOAD_FORMAT_INDICATOR:
        this.payloadFormat = cursor.number;
        break;
      case PROPERTY.MESSAGE_EXPIRY_INTERVAL:
        this.expirySeconds = cursor.number;
        break;
      case PROPERTY.TOPIC_ALIAS:
        this.topicAlias = cursor.number;
        break;
      case PROPERTY.WILL_DELAY_INTERVAL:
        this.willDelaySeconds = cursor.number;
        break;
      case PROPERTY.CONTENT_TYPE:
        this.contentTypeStart = valueStart;
        this.contentTypeEnd = valueEnd;
        break;
      case PROPERTY.RESPONSE_TOPIC:
        if (valueStart === valueEnd) throw protocolError('An empty response topic [MQTT-4.7.3-1]');
        if (hasWildcard(bytes, valueStart, valueEnd)) {
          throw protocolError('The response topic holds a wildcard [MQTT-3.3.2-14]');
        }
        this.responseTopicStart = valueStart;
        this.responseTopicEnd = valueEnd;
        break;
      case PROPERTY.CORRELATION_DATA:
        this.correlationDataStart = valueStart;
        this.correlationDataEnd = valueEnd;
        break;
      case PROPERTY.USER_PROPERTY:
        this.userPropertyCount++;
        this.userPropertyBytes += cursor.nameEnd - cursor.nameStart + valueEnd - valueStart;
        this.userProperties.push(cursor.nameStart, cursor.nameEnd, valueStart, valueEnd);
        break;
    }
  }
}

const PLUS = 0x2b;
const HASH = 0x23;

export function hasWildcard(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (bytes[at] === PLUS || bytes[at] === HASH) return true;
  }
  return false;
}
