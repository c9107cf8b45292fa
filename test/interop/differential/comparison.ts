// Two brokers' answers to one request, field by field. What cannot be equal is made so first: ids that are drawn at
// random are numbered in the order in which they appear, texts for people and the broker's own addresses are left out.

export interface Difference {
  /** Program, number of the step, API and version. */
  readonly label: string;
  /** As `topics[0].errorCode`. */
  readonly path: string;
  readonly kafka: unknown;
  readonly hub: unknown;
}

/** Texts for people, addresses and names of the broker itself, and how long it asks to wait. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'throttleTimeMs',
  'errorMessage',
  'host',
  'port',
  'clusterId',
  'documentation',
  'transactionStartTimeMs',
]);
/** Any epoch that there is, is as good as another. */
const EPOCHS: ReadonlySet<string> = new Set(['leaderEpoch', 'committedLeaderEpoch']);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** As Kafka writes ids that it draws for members. */
const SHORT_UUID = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const NIL = '00000000-0000-0000-0000-000000000000';
/** Lists are sets of what these name, except where the request gave their order. */
const SORTED_BY = ['name', 'topicName', 'topic', 'groupId', 'key', 'resourceName', 'clientId', 'memberId'];

/** Of one program on one broker. */
export class Normalizer {
  readonly #ids = new Map<string, string>();

  normalize(value: unknown, name = ''): unknown {
    if (typeof value === 'string') {
      if (SHORT_UUID.test(value)) return this.#numbered(value);
      return value.replace(UUID, (id) => this.#numbered(id));
    }
    if (typeof value === 'number' && value >= 0 && EPOCHS.has(name)) return 'an epoch';
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (Array.isArray(value))
      return this.#sorted(value.filter((item) => !isInternal(item))).map((item) =>
        this.normalize(item, name),
      );
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => !LEFT_OUT.has(key));
    return Object.fromEntries(entries.map(([key, part]) => [key, this.normalize(part, key)]));
  }

  #numbered(id: string): string {
    if (id === NIL) return 'no id';
    const known = this.#ids.get(id) ?? `id ${this.#ids.size + 1}`;
    this.#ids.set(id, known);
    return known;
  }

  /** By what names their elements, ids by the numbers that they have got already. */
  #sorted(values: readonly unknown[]): readonly unknown[] {
    const rank = (value: unknown): string => {
      if (typeof value !== 'object' || value === null) return '';
      // An element of an answer: an object whose fields are looked up by name.
      const fields = value as Readonly<Record<string, unknown>>;
      const named = SORTED_BY.map((name) =>
        `${fields[name] ?? ''}`.replace(UUID, (id) => this.#ids.get(id) ?? 'new'),
      );
      const numbers = [fields['partition'], fields['partitionIndex'], fields['resourceType']];
      return [...named, ...numbers.map((number) => `${number ?? ''}`.padStart(12, '0'))].join('\u0000');
    };
    const ranked = values.map((value) => ({ value, rank: rank(value) }));
    ranked.sort((left, right) => (left.rank < right.rank ? -1 : left.rank > right.rank ? 1 : 0));
    return ranked.map(({ value }) => value);
  }
}

/** Both already normalized. */
export function differences(label: string, kafka: unknown, hub: unknown, path = ''): Difference[] {
  if (Object.is(kafka, hub)) return [];
  // An exception that nobody foresaw in Kafka: any other error says more.
  if (path.endsWith('errorCode') && kafka === -1 && hub !== 0) return [];
  if (typeof kafka !== 'object' || typeof hub !== 'object' || kafka === null || hub === null)
    return [{ label, path, kafka, hub }];
  if (Array.isArray(kafka) !== Array.isArray(hub)) return [{ label, path, kafka, hub }];
  // Objects whose parts are looked up by name, or lists by index.
  const [left, right] = [kafka, hub] as unknown as Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(kafka), ...Object.keys(hub)]);
  return [...names].flatMap((name) => {
    const inner = Array.isArray(kafka)
      ? `${path}[${nameOf(left?.[name] ?? right?.[name]) ?? name}]`
      : `${path}${path === '' ? '' : '.'}${name}`;
    return differences(label, left?.[name], right?.[name], inner);
  });
}

/** Topics that each broker keeps for itself. */
const isInternal = (element: unknown): boolean => nameOf(element)?.startsWith('__') === true;

/** Of an element of a list that has one. */
function nameOf(element: unknown): string | undefined {
  if (typeof element !== 'object' || element === null) return undefined;
  const named = Object.entries(element).find(([key]) => SORTED_BY.includes(key));
  return named === undefined ? undefined : `${named[1]}`;
}
