// Which names a topic may have: Kafka's rules, and the names that the hub keeps to itself.

const NAME_LENGTH_MAX = 249;

/**
 * Topics that hold the hub's own state, or Kafka's: clients neither make nor delete them. Other names that begin
 * with two underscores are ordinary, for Kafka's ecosystem uses them (`__debezium-heartbeat.…`).
 */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  '__cluster_metadata',
  '__consumer_offsets',
  '__share_group_state',
  '__transaction_state',
]);
const RESERVED_PREFIX = '__mqtt_';

/** Undefined when legal, else a sentence that says why not. */
export function illegalTopicName(name: string): string | undefined {
  if (name === '') return 'a topic name must not be empty';
  if (name === '.' || name === '..') return 'a topic name must not be "." or ".."';
  if (name.length > NAME_LENGTH_MAX) {
    return `a topic name has at most ${NAME_LENGTH_MAX} characters, this one has ${name.length}`;
  }
  if (!/^[A-Za-z0-9._-]+$/.test(name)) {
    return 'a topic name consists of A-Z, a-z, 0-9, ".", "_" and "-" only';
  }
  return undefined;
}

export function isReservedTopicName(name: string): boolean {
  return RESERVED_NAMES.has(name) || name.startsWith(RESERVED_PREFIX);
}

/**
 * Names with the same key collide: Kafka's metrics write "." as "_", so Kafka refuses `a.b` beside `a_b`, and
 * tools built for it count on that.
 */
export function collisionKeyOf(name: string): string {
  return name.replaceAll('.', '_');
}
