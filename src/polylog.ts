// `import { startPolylog } from 'polylog'`: a hub in the application's own process, with the configuration that the file
// would have, as an object.
import { stringify } from 'smol-toml';
import type * as z from 'zod';
import type { Hub, ListenerView, Log, MessagingDirectory } from '../protocols/port.ts';
import { packageVersion } from './cli/package-files.ts';
import type { configSchema } from './config/schema.ts';
import type { ConfigIssue } from './config/sources.ts';
import type { Broker } from './running-broker.ts';

/** Sections and keys of `polylog.toml` (config/README.md): `{ server: { data_dir: 'data' }, listener: [{ … }] }`. */
export type PolylogConfig = z.input<typeof configSchema>;

export interface PolylogOptions {
  readonly config?: PolylogConfig;
  /** What relative paths start from; the process's working directory if absent. */
  readonly workingDirectory?: string;
  /** Where events go; nowhere if absent. */
  readonly log?: Log;
}

export interface Polylog {
  readonly hub: Hub;
  /** Clients, sessions, retained messages and publishing, whether or not a listener speaks MQTT. */
  readonly messaging: MessagingDirectory;
  /** In the order of the configuration, with the ports that were really taken. */
  listeners(): readonly ListenerView[];
  /** `host:port` of a listener. Throws when there is none of that name. */
  address(listener: string): string;
  /** Why it does not serve everything, a phrase each; empty when it does. */
  ready(): readonly string[];
  /** Clients are told goodbye, and all is on disk when it resolves: in less than 5 s. */
  close(): Promise<void>;
}

/** What is wrong with the configuration, a line each. */
export class PolylogConfigError extends Error {
  readonly code = 'config';
  readonly issues: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[]) {
    super(issues.map(({ key, message }) => `${key}: ${message}`).join('\n'));
    this.name = 'PolylogConfigError';
    this.issues = issues;
  }
}

/**
 * Resolves when its listeners are bound and its logs recovered. Without a listener in the configuration it opens no port.
 * @throws PolylogConfigError, or what says why it cannot start: another process has the data, a port is taken
 */
export async function startPolylog(options: PolylogOptions = {}): Promise<Polylog> {
  const { config = {}, workingDirectory = process.cwd(), log = SILENT } = options;
  const [{ readConfig }, { Configuration }] = await Promise.all([
    import('./config/load.ts'),
    import('./config/configuration.ts'),
  ]);
  // The same way as a file's, so that the same is refused, in the same words.
  const loading = { file: 'options', environment: {}, settings: [], workingDirectory, isEmbedded: true };
  const read = readConfig(stringify(withoutUndefined(config)), loading);
  if (read.config === undefined) throw new PolylogConfigError(read.issues);
  const configuration = new Configuration({
    ...{ loaded: read.config, options: loading, log },
    apply: async () => {
      throw new Error('the options of a hub are those that it was started with');
    },
  });
  const { startBroker } = await import('./broker.ts');
  const broker = await startBroker(read.config.broker, log, {
    unheard: ['mqtt'],
    startAdmin: async (target, listeners) => {
      const { startAdmin } = await import('./admin/start-admin.ts');
      return startAdmin({
        ...{ target, listeners, log, version: packageVersion() },
        // The log is the application's, and so are its levels.
        operations: { configuration },
      });
    },
  });
  return polylogOf(broker);
}

function polylogOf(broker: Broker): Polylog {
  const { messaging } = broker;
  if (messaging === undefined) throw new Error('the MQTT front end is not open');
  return {
    hub: broker.hub,
    messaging,
    listeners: () => broker.listeners(),
    address: (listener) => {
      const view = broker.listeners().find(({ name }) => name === listener);
      if (view === undefined) throw new RangeError(`there is no listener "${listener}"`);
      return view.host.includes(':') ? `[${view.host}]:${view.port}` : `${view.host}:${view.port}`;
    },
    ready: () => broker.ready(),
    close: () => broker.stop(),
  };
}

/** TOML has no such thing; to JavaScript an absent key and an undefined one are alike. */
function withoutUndefined(config: PolylogConfig): PolylogConfig {
  // What comes of JSON is what went into it.
  return JSON.parse(JSON.stringify(config)) as PolylogConfig;
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
