// The tables of protocols/mqtt/README.md that say what is served: rows come from the lists of the sources, and each has words
// here. A row without words, or words without a row, is a failing test.
import { HANDLERS } from '../../../protocols/mqtt/handlers/handlers.ts';
import { PLACE, PROPERTY, PROPERTY_RULES } from '../../../protocols/mqtt/packets/properties.ts';
import { REASON } from '../../../protocols/mqtt/reason-codes.ts';
import { MOSQUITTO } from '../../interop/mqtt-differential/exceptions.ts';

/** Markdown; columns are not padded, which a formatter does. */
function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

interface PacketWords {
  readonly from: 'client' | 'hub' | 'both';
  readonly versions: string;
  readonly what: string;
}

const ALL = '3.1, 3.1.1, 5';

export const PACKETS: Readonly<Record<string, PacketWords>> = {
  CONNECT: {
    from: 'client',
    versions: ALL,
    what: 'first and once; a will, a session that lasts; up to `mqtt.max_connect_size`, within `mqtt.connect_timeout`',
  },
  CONNACK: { from: 'hub', versions: ALL, what: 'when what it says is on disk' },
  PUBLISH: {
    from: 'both',
    versions: ALL,
    what: 'QoS 0, 1 and 2; retained; up to `mqtt.max_packet_size`, `topics.config."max.message.bytes"`, `mqtt.publish_rate_max`',
  },
  PUBACK: { from: 'both', versions: ALL, what: 'when the publish is on disk' },
  PUBREC: { from: 'both', versions: ALL, what: 'when the publish and its identifier are on disk' },
  PUBREL: { from: 'both', versions: ALL, what: 'when PUBREC is on disk' },
  PUBCOMP: { from: 'both', versions: ALL, what: 'when PUBREL is on disk' },
  SUBSCRIBE: {
    from: 'client',
    versions: ALL,
    what: '`+`, `#`, `$share/…`, history; up to `mqtt.subscriptions_max`, `mqtt.topic_levels_max`, `mqtt.topic_length_max`, `mqtt.wildcards_max`, `mqtt.shared_groups_max`',
  },
  SUBACK: { from: 'hub', versions: ALL, what: 'when the subscriptions of a session that lasts are on disk' },
  UNSUBSCRIBE: { from: 'client', versions: ALL, what: 'what was published before is still delivered' },
  UNSUBACK: { from: 'hub', versions: ALL, what: 'with reason codes in 5' },
  PINGREQ: { from: 'client', versions: ALL, what: 'keep alive times 1.5, up to `mqtt.keepalive_max`' },
  PINGRESP: { from: 'hub', versions: ALL, what: '' },
  DISCONNECT: {
    from: 'both',
    versions: ALL,
    what: 'from the hub in 5 alone; from a client with another expiry, or with its will',
  },
  AUTH: { from: 'client', versions: '5', what: 'refused: there is no enhanced authentication' },
};

export function packetTable(): string {
  const rows = Object.entries(PACKETS).map(([name, { from, versions, what }]) => [
    ...[name, from === 'both' ? 'client, hub' : from, versions, what],
  ]);
  return tableOf(['packet', 'sent by', 'versions', 'served'], rows);
}

/** Packets that a client sends, as the handlers have them. */
export const handledPackets = (): string[] => ['CONNECT', ...HANDLERS.map(({ name }) => name)];

/** What a property does here. */
const PROPERTY_WORDS: Readonly<
  Record<keyof typeof PROPERTY, { readonly hub?: string; readonly what: string }>
> = {
  PAYLOAD_FORMAT_INDICATOR: {
    hub: 'PUBLISH',
    what: 'kept with the record (`mqtt.payload-format`) and passed on; not held against the payload',
  },
  MESSAGE_EXPIRY_INTERVAL: {
    hub: 'PUBLISH',
    what: 'kept with the record (`mqtt.expiry`); sent with what is left; governs MQTT delivery alone',
  },
  CONTENT_TYPE: { hub: 'PUBLISH', what: 'kept with the record (`mqtt.content-type`) and passed on' },
  RESPONSE_TOPIC: { hub: 'PUBLISH', what: 'kept with the record (`mqtt.response-topic`) and passed on' },
  CORRELATION_DATA: { hub: 'PUBLISH', what: 'kept with the record (`mqtt.correlation-data`) and passed on' },
  SUBSCRIPTION_IDENTIFIER: { hub: 'PUBLISH', what: 'of each subscription that matches' },
  SESSION_EXPIRY_INTERVAL: {
    hub: 'CONNACK',
    what: 'up to `mqtt.session_expiry_max`; CONNACK says another one where it is',
  },
  ASSIGNED_CLIENT_IDENTIFIER: { hub: 'CONNACK', what: '`auto-` and a random one, for a client without' },
  SERVER_KEEP_ALIVE: {
    hub: 'CONNACK',
    what: '`mqtt.keepalive_max`, to a client that asks for more or for none',
  },
  AUTHENTICATION_METHOD: { what: 'refused: CONNACK 0x8C' },
  AUTHENTICATION_DATA: { what: 'without a method a protocol error; with one as above' },
  REQUEST_PROBLEM_INFORMATION: { what: '0: no reasons in words but in CONNACK and DISCONNECT' },
  WILL_DELAY_INTERVAL: { what: 'also across a stop or a crash of the hub' },
  REQUEST_RESPONSE_INFORMATION: { what: '1: CONNACK has Response Information' },
  RESPONSE_INFORMATION: { hub: 'CONNACK', what: '`response/` and the client identifier' },
  SERVER_REFERENCE: { what: 'never sent: there is one node' },
  REASON_STRING: {
    hub: 'CONNACK, PUBACK, PUBREC, SUBACK, DISCONNECT',
    what: 'in words, where something was refused and the packet is not too large with it',
  },
  RECEIVE_MAXIMUM: {
    hub: 'CONNACK',
    what: "the client's is kept to, up to `mqtt.inflight_max`; the hub's is `mqtt.receive_maximum`",
  },
  TOPIC_ALIAS_MAXIMUM: {
    hub: 'CONNACK',
    what: "the client's is used; the hub's is `mqtt.topic_alias_maximum`",
  },
  TOPIC_ALIAS: { hub: 'PUBLISH', what: 'both ways' },
  MAXIMUM_QOS: { what: 'never sent: it is 2' },
  RETAIN_AVAILABLE: { hub: 'CONNACK', what: '1' },
  USER_PROPERTY: {
    hub: 'PUBLISH',
    what: 'of a publish: headers of the record, and passed on in order; up to `mqtt.user_properties_max`, `mqtt.user_properties_size_max`. In SUBSCRIBE `polylog.from`. Elsewhere read and not used',
  },
  MAXIMUM_PACKET_SIZE: {
    hub: 'CONNACK',
    what: "the client's: what is larger is not sent, and counted; the hub's is `mqtt.max_packet_size`",
  },
  WILDCARD_SUBSCRIPTION_AVAILABLE: { what: 'never sent: they are' },
  SUBSCRIPTION_IDENTIFIER_AVAILABLE: { what: 'never sent: they are' },
  SHARED_SUBSCRIPTION_AVAILABLE: { hub: 'CONNACK', what: '1' },
};

const PLACE_NAMES: Readonly<Record<keyof typeof PLACE, string>> = {
  CONNECT: 'CONNECT',
  WILL: 'will',
  PUBLISH: 'PUBLISH',
  ACKNOWLEDGEMENT: 'PUBACK to PUBCOMP',
  SUBSCRIBE: 'SUBSCRIBE',
  UNSUBSCRIBE: 'UNSUBSCRIBE',
  DISCONNECT: 'DISCONNECT',
  AUTH: 'AUTH',
};

export function propertyTable(): string {
  const rows = (Object.keys(PROPERTY) as (keyof typeof PROPERTY)[]).map((key) => {
    const rule = PROPERTY_RULES.get(PROPERTY[key]);
    if (rule === undefined) throw new Error(`${key} has no rule`);
    const places = (Object.keys(PLACE) as (keyof typeof PLACE)[]).filter(
      (place) => (rule.places & PLACE[place]) !== 0,
    );
    const read = places.length === Object.keys(PLACE).length ? 'all' : placesIn(places);
    const { hub = '', what } = PROPERTY_WORDS[key];
    return [hex(PROPERTY[key]), rule.name, read, hub, what];
  });
  return tableOf(['id', 'property of MQTT 5', 'read in', 'sent in', 'what becomes of it'], rows);
}

const placesIn = (places: readonly (keyof typeof PLACE)[]): string =>
  places.map((place) => PLACE_NAMES[place]).join(', ');

const NO_POLICY = 'only from a policy (`hooks.ts`)';

/** Where a reason code is said, and when. */
export const REASON_WORDS: Readonly<
  Record<keyof typeof REASON, { readonly in: string; readonly when: string }>
> = {
  SUCCESS: {
    in: 'CONNACK, PUBACK to PUBCOMP, SUBACK, UNSUBACK',
    when: 'it is done; in SUBACK the QoS granted',
  },
  DISCONNECT_WITH_WILL: { in: 'DISCONNECT of a client', when: 'its will is published' },
  NO_SUBSCRIPTION_EXISTED: { in: 'UNSUBACK', when: 'there was no such subscription' },
  UNSPECIFIED_ERROR: { in: 'DISCONNECT', when: 'a fault of the hub, which its log has' },
  MALFORMED_PACKET: { in: 'CONNACK, DISCONNECT', when: 'the bytes are no such packet' },
  PROTOCOL_ERROR: { in: 'CONNACK, DISCONNECT', when: 'the packet may not say this, or not now' },
  IMPLEMENTATION_SPECIFIC_ERROR: {
    in: 'PUBACK, PUBREC, SUBACK, DISCONNECT',
    when: 'the log did not take it; history that is not understood; a session that cannot be stored',
  },
  UNSUPPORTED_PROTOCOL_VERSION: { in: 'CONNACK', when: 'level 5 of another protocol' },
  CLIENT_IDENTIFIER_NOT_VALID: {
    in: 'CONNACK',
    when: 'more than 1,024 bytes; below 5 also an empty one that asks for a session',
  },
  BAD_USER_NAME_OR_PASSWORD: { in: 'CONNACK', when: NO_POLICY },
  NOT_AUTHORIZED: {
    in: 'CONNACK, PUBACK, PUBREC, SUBACK',
    when: 'the topic does not exist and may not be made; a policy',
  },
  SERVER_UNAVAILABLE: { in: 'CONNACK', when: 'the state of sessions cannot be read or written' },
  SERVER_BUSY: { in: 'CONNACK', when: NO_POLICY },
  SERVER_SHUTTING_DOWN: { in: 'DISCONNECT', when: 'the hub stops, or the listener is gone' },
  BAD_AUTHENTICATION_METHOD: { in: 'CONNACK, DISCONNECT', when: 'enhanced authentication is asked for' },
  KEEP_ALIVE_TIMEOUT: { in: 'DISCONNECT', when: 'nothing came for 1.5 times the keep alive' },
  SESSION_TAKEN_OVER: { in: 'DISCONNECT', when: 'another connection has the same client identifier' },
  TOPIC_FILTER_INVALID: {
    in: 'SUBACK, DISCONNECT',
    when: 'misplaced wildcards; beyond `mqtt.topic_levels_max`, `mqtt.topic_length_max`, `mqtt.wildcards_max`',
  },
  TOPIC_NAME_INVALID: {
    in: 'CONNACK, PUBACK, PUBREC, DISCONNECT',
    when: 'wildcards; `$…`, `__…`; too many levels; a name that collides in Kafka; a rule that leads out alone',
  },
  PACKET_IDENTIFIER_NOT_FOUND: { in: 'PUBREL, PUBCOMP', when: 'nothing is under way under it' },
  RECEIVE_MAXIMUM_EXCEEDED: {
    in: 'DISCONNECT',
    when: 'more than `mqtt.receive_maximum` QoS 2 publishes are not released',
  },
  TOPIC_ALIAS_INVALID: { in: 'DISCONNECT', when: '0, or above `mqtt.topic_alias_maximum`' },
  PACKET_TOO_LARGE: { in: 'DISCONNECT', when: 'more than `mqtt.max_packet_size`' },
  QUOTA_EXCEEDED: {
    in: 'CONNACK, PUBACK, PUBREC, SUBACK',
    when: 'the disk is full; `mqtt.sessions_max`, `mqtt.connections_per_address_max`, `mqtt.retained_count_max`, `mqtt.retained_size_max`, `mqtt.subscriptions_max`, `mqtt.shared_groups_max`, `mqtt.user_properties_max`, `topics.auto_create_limit`, `topics.config."max.message.bytes"`',
  },
  ADMINISTRATIVE_ACTION: { in: 'DISCONNECT', when: '`polylog clients kick`, `polylog sessions delete`' },
  RETAIN_NOT_SUPPORTED: { in: '', when: NO_POLICY },
  SHARED_SUBSCRIPTIONS_NOT_SUPPORTED: {
    in: 'SUBACK',
    when: 'history of a shared subscription, or where a mapping rule says `replay = false`',
  },
  CONNECTION_RATE_EXCEEDED: {
    in: 'CONNACK',
    when: 'faster than `[[listener]].limits.connect_rate` for long',
  },
};

export function reasonTable(): string {
  const rows = (Object.keys(REASON) as (keyof typeof REASON)[]).map((key) => {
    const words = REASON_WORDS[key];
    return [hex(REASON[key]), nameOf(key), words.in, words.when];
  });
  return tableOf(['code', 'reason of MQTT 5', 'said in', 'when'], rows);
}

const nameOf = (key: string): string =>
  key.charAt(0) + key.slice(1).toLowerCase().replaceAll('_', ' ').replaceAll('qos', 'QoS');

const hex = (value: number): string => `0x${value.toString(16).toUpperCase().padStart(2, '0')}`;

export const policyOnly = (): string[] =>
  Object.entries(REASON_WORDS)
    .filter(([, { when }]) => when === NO_POLICY)
    .map(([key]) => key);

/** What the differential suite allows. */
export const differences = (): string =>
  [...new Set(MOSQUITTO.map(({ reason }) => `- ${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`))].join(
    '\n',
  );
