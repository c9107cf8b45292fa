// What others write to the log, as messages: Kafka clients, MQTT clients of the hub, the admin API. Each partition is followed
// from where its log ends when this begins; one after another, at the pace of who takes them.
import type {
  Followed,
  Hub,
  MessagingDirectory,
  Partition,
  RecordCursor,
  RecordRange,
  TopicView,
} from '../../protocols/port.ts';
import { OwnOffsets } from './own-offsets.ts';
import type { AedesPacket, PacketProperties } from './packets.ts';

export interface LogMessagesOptions {
  readonly hub: Hub;
  readonly messaging: MessagingDirectory;
  /** Of the packets: aedes tells the messages of one broker from those of another by it, and by their number. */
  readonly brokerId: string;
  /** The next message comes when it has resolved. */
  onMessage(packet: AedesPacket): Promise<void>;
}

const TOPIC = 'mqtt.topic';

export class LogMessages {
  readonly own = new OwnOffsets();
  readonly #options: LogMessagesOptions;
  readonly #cursor: RecordCursor;
  readonly #followed = new Map<Partition, Followed>();
  readonly #stopListening: () => void;
  #counter = 0;
  #closed = false;

  constructor(options: LogMessagesOptions) {
    const { hub } = options;
    this.#options = options;
    this.#cursor = hub.cursor();
    for (const topic of hub.topics.list()) this.#follow(topic, undefined);
    this.#stopListening = hub.topics.onChange(({ kind, topic }) => {
      if (kind === 'deleted') this.#forget(topic);
      else this.#follow(topic, 0);
    });
  }

  close(): void {
    this.#closed = true;
    this.#stopListening();
    for (const followed of this.#followed.values()) followed.close();
    this.#followed.clear();
  }

  #follow(topic: TopicView, fromOffset: number | undefined): void {
    if (topic.internal) return;
    const { hub } = this.#options;
    for (const partition of topic.partitions) {
      if (this.#followed.has(partition)) continue;
      const followed = hub.follow(partition, {
        ...(fromOffset === undefined ? {} : { fromOffset }),
        onRange: (range) => this.#read(partition, range),
        onError: (refusal, message) =>
          hub.log.error('aedes-log-unreadable', {
            topic: topic.name,
            partition: partition.partition,
            refusal,
            message,
          }),
      });
      this.#followed.set(partition, followed);
    }
  }

  #forget(topic: TopicView): void {
    this.own.forget(topic.name);
    for (const partition of topic.partitions) {
      this.#followed.get(partition)?.close();
      this.#followed.delete(partition);
    }
  }

  /** The cursor serves all partitions, so a range is read whole before the first of its messages is given away. */
  async #read(partition: Partition, range: RecordRange): Promise<void> {
    const packets: AedesPacket[] = [];
    this.#cursor.reset(range);
    while (this.#cursor.nextBatch()) {
      while (this.#cursor.nextRecord()) {
        if (this.own.take(partition.topic, partition.partition, this.#cursor.offset)) continue;
        const packet = this.#packet(partition.topic);
        if (packet !== undefined) packets.push(packet);
      }
    }
    for (const packet of packets) {
      if (this.#closed) return;
      try {
        await this.#options.onMessage(packet);
      } catch (error) {
        this.#options.hub.log.error('aedes-message-failed', { topic: packet.topic, error });
      }
    }
  }

  /** Undefined when it is not for subscribers. */
  #packet(kafkaTopic: string): AedesPacket | undefined {
    const { hub, messaging, brokerId } = this.#options;
    const cursor = this.#cursor;
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = cursor;
    const fields = fieldsOf(cursor);
    const key = keyEnd < 0 ? null : bytes.subarray(keyStart, keyEnd);
    const mapping = messaging.mappings.ofRecord(kafkaTopic, key, fields.said.get(TOPIC));
    if (!mapping.delivers) return undefined;
    const text = (name: string): string | undefined => fields.said.get(`mqtt.${name}`)?.toString('utf8');
    const expirySeconds = Number(text('expiry') ?? Number.NaN);
    const expiresAtMs = cursor.timestampMs + expirySeconds * 1000;
    if (expiresAtMs <= hub.clock.now()) return undefined;
    const qos = fields.isOfMqtt ? Number(text('qos') ?? 0) : mapping.qos;
    const properties = propertiesOf(fields, text, expirySeconds);
    return {
      cmd: 'publish',
      brokerId,
      brokerCounter: ++this.#counter,
      topic: mapping.messageTopic,
      // MQTT has no null.
      payload: valueEnd < 0 ? Buffer.alloc(0) : Buffer.from(bytes.subarray(valueStart, valueEnd)),
      qos: qos === 1 || qos === 2 ? qos : 0,
      retain: text('retain') === '1',
      dup: false,
      ...(properties === undefined ? {} : { properties }),
      ...(Number.isNaN(expirySeconds) ? {} : { messageExpiry: expiresAtMs }),
    };
  }
}

interface Fields {
  /** An MQTT client has written it. */
  readonly isOfMqtt: boolean;
  /** What the record says by attributes, or headers, that begin with `mqtt.`. */
  readonly said: ReadonlyMap<string, Buffer>;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

function fieldsOf(cursor: RecordCursor): Fields {
  const said = new Map<string, Buffer>();
  const headers: (readonly [string, string])[] = [];
  const { bytes } = cursor;
  const item = (): Buffer =>
    Buffer.from(bytes.subarray(cursor.itemStart, Math.max(cursor.itemStart, cursor.itemEnd)));
  const name = (): string => bytes.toString('utf8', cursor.nameStart, cursor.nameEnd);
  cursor.rewindAttributes();
  while (cursor.nextAttribute()) if (cursor.itemEnd >= 0) said.set(name(), item());
  const isOfMqtt = said.has(TOPIC);
  cursor.rewindHeaders();
  while (cursor.nextHeader()) {
    const own = name();
    if (!own.startsWith('mqtt.')) headers.push([own, cursor.itemEnd < 0 ? '' : item().toString('utf8')]);
    else if (!isOfMqtt && cursor.itemEnd >= 0) said.set(own, item());
  }
  return { isOfMqtt, said, headers };
}

function propertiesOf(
  { said, headers }: Fields,
  text: (name: string) => string | undefined,
  expirySeconds: number,
): PacketProperties | undefined {
  const properties: PacketProperties = {};
  const contentType = text('content-type');
  const responseTopic = text('response-topic');
  const correlationData = said.get('mqtt.correlation-data');
  const format = text('payload-format');
  if (contentType !== undefined) properties.contentType = contentType;
  if (responseTopic !== undefined) properties.responseTopic = responseTopic;
  if (correlationData !== undefined) properties.correlationData = correlationData;
  if (format !== undefined) properties.payloadFormatIndicator = format === '1';
  if (!Number.isNaN(expirySeconds)) properties.messageExpiryInterval = expirySeconds;
  if (headers.length > 0) properties.userProperties = userPropertiesOf(headers);
  return Object.keys(properties).length > 0 ? properties : undefined;
}

/** As mqtt-packet has them: of a name that comes twice, a list. */
function userPropertiesOf(headers: Fields['headers']): Record<string, string | string[]> {
  const byName = new Map<string, string | string[]>();
  for (const [name, value] of headers) {
    const known = byName.get(name);
    byName.set(name, known === undefined ? value : [known, value].flat());
  }
  return Object.fromEntries(byName);
}
