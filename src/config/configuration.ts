// The configuration of a hub that runs: what is in effect, and reading the file again. A file with anything wrong in it
// changes nothing; what can take effect does, and the rest is told.
import type { Log } from '../../protocols/port.ts';
import type { BrokerConfig } from './broker-config.ts';
import { changesBetween } from './changes.ts';
import { type EffectiveValue, effectiveValues } from './effective.ts';
import type { Environment } from './interpolation.ts';
import { type ConfigResult, type LoadedConfig, type LoadOptions, loadConfig, readConfig } from './load.ts';
import { PartlyAppliedError } from './partly-applied.ts';
import { type LogConfig, resolveBroker, resolveLog } from './resolve.ts';
import { type ConfigIssue, formatIssue, formatSource, sourceOf } from './sources.ts';

export interface ReloadLists {
  /** In effect now. */
  readonly applied: readonly string[];
  /** Different in the file, and as before in the hub. */
  readonly needsRestart: readonly string[];
  readonly unchanged: readonly string[];
}

/** With a problem nothing has changed but what is `applied` all the same: the disk may fail half way. */
export type ReloadResult =
  | (ReloadLists & { readonly issues?: undefined })
  | { readonly issues: readonly ConfigIssue[]; readonly applied: readonly string[] };

export interface ValueInEffect extends EffectiveValue {
  /** What the file says by now, where that takes a restart. */
  readonly pending?: unknown;
}

export interface ConfigurationOptions {
  readonly loaded: LoadedConfig;
  readonly options: LoadOptions;
  /**
   * Puts it into effect. Throws, with a sentence for whoever configures, when that cannot be done; then nothing of it is,
   * but for what a PartlyAppliedError names.
   */
  apply(broker: BrokerConfig, log: LogConfig): Promise<void>;
  readonly log: Log;
}

export class Configuration {
  readonly file: string;
  /** False where it is the options of a program that the hub is part of: there is nothing to read again. */
  readonly isFile: boolean;
  /** How often the file was read again, and what came of it. */
  readonly reloads = { applied: 0, refused: 0 };
  readonly #options: LoadOptions;
  readonly #log: Log;
  readonly #apply: ConfigurationOptions['apply'];
  #loaded: LoadedConfig;
  #inEffect: ReadonlyMap<string, ValueInEffect>;
  /** One file is read after the other. */
  #reloading: Promise<unknown> = Promise.resolve();

  constructor({ loaded, options, apply, log }: ConfigurationOptions) {
    this.file = loaded.file;
    this.isFile = options.isEmbedded !== true;
    this.#options = options;
    this.#apply = apply;
    this.#log = log;
    this.#loaded = loaded;
    this.#inEffect = new Map(effectiveValues(loaded.written).map((value) => [value.key, value]));
  }

  /** In the order of the file's schema; a secret has no value. */
  values(): readonly ValueInEffect[] {
    return [...this.#inEffect.values()];
  }

  /** Never rejects for what is wrong with the file or cannot be put into effect. */
  reload(): Promise<ReloadResult> {
    const reloaded = this.#reloading.then(() => this.#reload());
    this.#reloading = reloaded.then(
      (result) => this.#tell(result),
      () => undefined, // the failure is the caller's
    );
    return reloaded;
  }

  /**
   * What would be wrong with another text of the file, or what a reload of it would do. Variables that the file in use does
   * not name count as not set: whoever may ask this must not be told what else is in the environment.
   */
  check(text: string): ReloadResult {
    const environment = this.#environmentInUse();
    const result = readConfig(text, { ...this.#options, environment });
    if (result.issues !== undefined) return { issues: result.issues, applied: [] };
    return listsOf(changesBetween(this.#loaded.checked, result.config.checked));
  }

  async #reload(): Promise<ReloadResult> {
    const result: ConfigResult = await loadConfig(this.#options);
    if (result.issues !== undefined) return { issues: result.issues, applied: [] };
    const next = result.config;
    const changes = changesBetween(this.#loaded.checked, next.checked);
    const placeOf = (path: readonly (string | number)[]) => formatSource(sourceOf(next.written, path));
    const broker = resolveBroker(changes.merged, this.#options.workingDirectory, placeOf);
    try {
      await this.#apply(broker, resolveLog(changes.merged));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const source = { kind: 'file', file: this.file, line: undefined } as const;
      const applied = error instanceof PartlyAppliedError ? error.applied : [];
      return { issues: [{ source, key: '', message }], applied };
    }
    this.#inEffect = this.#valuesAfter(next, new Set(changes.needsRestart));
    this.#loaded = { ...next, checked: changes.merged, broker };
    return listsOf(changes);
  }

  #tell(result: ReloadResult): void {
    this.reloads[result.issues === undefined ? 'applied' : 'refused']++;
    if (result.issues !== undefined) {
      const problems = result.issues.map(formatIssue);
      const { applied } = result;
      this.#log.error('config-refused', {
        ...{ file: this.file, problems },
        ...(applied.length === 0 ? {} : { applied }),
      });
      return;
    }
    const { applied, needsRestart, unchanged } = result;
    this.#log.info('config-reloaded', {
      file: this.file,
      applied,
      needsRestart,
      unchanged: unchanged.length,
    });
  }

  /** Of the new file, but for what waits for a restart. */
  #valuesAfter(next: LoadedConfig, waiting: ReadonlySet<string>): ReadonlyMap<string, ValueInEffect> {
    const isWaiting = (key: string) => waiting.has(key) || waiting.has(key.split('.', 2).join('.')); // a listener waits as a whole
    const after = effectiveValues(next.written).flatMap((value): ValueInEffect[] => {
      if (!isWaiting(value.key)) return [value];
      const { pending: _, ...before } = this.#inEffect.get(value.key) ?? {};
      return 'key' in before ? [{ ...(before as EffectiveValue), pending: value.value }] : [];
    });
    const gone = [...this.#inEffect.values()].filter(
      ({ key }) => isWaiting(key) && !after.some((value) => value.key === key),
    );
    return new Map([...after, ...gone].map((value) => [value.key, value]));
  }

  #environmentInUse(): Environment {
    const asked = this.#loaded.written.variables;
    const names = Object.entries(this.#options.environment);
    return Object.fromEntries(names.filter(([name]) => name.startsWith('POLYLOG__') || asked.has(name)));
  }
}

function listsOf({ applied, needsRestart, unchanged }: ReloadLists): ReloadLists {
  return { applied, needsRestart, unchanged };
}
