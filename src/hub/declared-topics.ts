// What the configuration declares of topics: in effect from the start and from each reload on, and changed there alone.
// Whoever tries another way is told the line that says so. What it leaves open, anyone may change.
import type { TopicConfigChange, TopicError } from '../../protocols/port.ts';
import type { DeclaredTopic } from '../config/broker-config.ts';

export class DeclaredTopics {
  #byName: ReadonlyMap<string, DeclaredTopic>;

  constructor(declared: readonly DeclaredTopic[]) {
    this.#byName = byName(declared);
  }

  replace(declared: readonly DeclaredTopic[]): void {
    this.#byName = byName(declared);
  }

  /** `file:line`. */
  at(name: string): string | undefined {
    const declared = this.#byName.get(name);
    return declared && placeOf(declared);
  }

  refuseDeletion(name: string): TopicError | undefined {
    const declared = this.#byName.get(name);
    return declared && refusal(name, 'is declared', placeOf(declared), 'take it out');
  }

  refusePartitions(name: string): TopicError | undefined {
    const declared = this.#byName.get(name);
    if (declared === undefined || declared.partitions === -1) return undefined;
    const at = declared.origin?.partitions ?? placeOf(declared);
    return refusal(name, `has ${declared.partitions} partitions declared`, at, 'change it');
  }

  /** @param config all that the topic would say for itself. */
  refuseConfig(name: string, config: Readonly<Record<string, string>>): TopicError | undefined {
    const declared = this.#byName.get(name);
    if (declared === undefined) return undefined;
    for (const [key, value] of Object.entries(declared.config)) {
      if (Object.hasOwn(config, key) && config[key] === value) continue;
      const at = declared.origin?.config[key] ?? placeOf(declared);
      return refusal(name, `has ${key}=${value} declared`, at, 'change it');
    }
    return undefined;
  }
}

/** What has to be set so that the topic says what the file says; what it says beside that stays. */
export function missingConfig(
  { config }: DeclaredTopic,
  own: Readonly<Record<string, string>>,
): readonly TopicConfigChange[] {
  return Object.entries(config).flatMap(([name, value]) =>
    Object.hasOwn(own, name) && own[name] === value ? [] : [{ name, operation: 'set' as const, value }],
  );
}

function byName(declared: readonly DeclaredTopic[]): ReadonlyMap<string, DeclaredTopic> {
  return new Map(declared.map((topic) => [topic.name, topic]));
}

function placeOf({ origin }: DeclaredTopic): string {
  return origin?.topic ?? 'the configuration';
}

function refusal(name: string, says: string, at: string, todo: string): TopicError {
  const message = `topic ${name} ${says} at ${at}: ${todo} there, and reload`;
  return { error: 'declared', message, declaredAt: at };
}
