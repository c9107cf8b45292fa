// `polylog start`: configuration → log → broker → a word to the user → a signal → stop. Everything heavy is imported
// once the configuration is known to be right.

import { Configuration } from '../config/configuration.ts';
import type { LoadedConfig } from '../config/load.ts';
import { SYSTEM_CLOCK } from '../hub/clock.ts';
import { type HubLog, openLog } from '../log/hub-log.ts';
import type { Broker } from '../running-broker.ts';
import { boundYoungGeneration } from '../young-generation.ts';
import { banner } from './banner.ts';
import { type ConfigOptions, configFromOptions, loadOptionsOf } from './config-option.ts';
import { packageVersion } from './package-files.ts';
import { listenForSignals } from './signals.ts';
import { startupProblem } from './startup-problem.ts';
import { EXIT, type Surroundings } from './surroundings.ts';
import { supervisor } from './systemd.ts';

export async function start(told: ConfigOptions, surroundings: Surroundings): Promise<number> {
  const options = loadOptionsOf(told, surroundings);
  const config = await configFromOptions(options, surroundings);
  if (!config) return EXIT.failed;
  boundYoungGeneration(SYSTEM_CLOCK);
  const log = await openLog({ ...config.log, output: process.stderr });
  endOnFault(log);
  const firstSignal = listenForSignals({ source: process, exit: (code) => process.exit(code), log });
  const running: { broker?: Broker } = {};
  const configuration = new Configuration({
    ...{ loaded: config, options, log },
    apply: async (next, { level }) => {
      if (running.broker === undefined) throw new Error('the hub is starting');
      await running.broker.reconfigure(next);
      log.levels.configure(level);
    },
  });
  process.on('SIGHUP', () => void configuration.reload());
  const broker = await openBroker(config, log, configuration, surroundings);
  if (!broker) return EXIT.failed;
  running.broker = broker;
  announce(config, broker, log, surroundings);
  const watching = supervisor(surroundings.environment, log);
  watching.ready();
  log.info('stopping', { signal: await firstSignal });
  watching.stopping();
  await broker.stop();
  log.close();
  return EXIT.done;
}

async function openBroker(
  config: LoadedConfig,
  log: HubLog,
  configuration: Configuration,
  surroundings: Surroundings,
): Promise<Broker | undefined> {
  const { startBroker } = await import('../broker.ts');
  const version = packageVersion();
  const importServer = () => import('../admin/server.ts');
  try {
    return await startBroker(config.broker, log, {
      imports: config.broker.listeners.some(({ protocol }) => protocol === 'http') ? [importServer] : [],
      startAdmin: async (target, listeners) => {
        const { startAdmin } = await import('../admin/start-admin.ts');
        return startAdmin({
          target,
          listeners,
          version,
          log,
          operations: { configuration, levels: log.levels },
        });
      },
    });
  } catch (error) {
    const problem = startupProblem(error);
    if (!problem.isExpected) log.fatal('start-failed', { error });
    log.close();
    surroundings.err(`polylog: ${problem.line}\n`);
    return undefined;
  }
}

/** Words for people; where the log is for machines, an event. */
function announce(config: LoadedConfig, broker: Broker, log: HubLog, surroundings: Surroundings): void {
  const listeners = broker.listeners();
  const readyAfterMs = performance.now();
  if (config.log.format === 'json') {
    const addresses = listeners.map(({ name, protocol, host, port }) => ({ name, protocol, host, port }));
    log.info('ready', { readyAfterMs: Math.round(readyAfterMs), listeners: addresses });
    return;
  }
  const { dataDirectory } = config.broker;
  const { recovery } = broker;
  surroundings.out(
    banner({
      version: packageVersion(),
      readyAfterMs,
      configFile: config.file,
      dataDirectory,
      listeners,
      recovery,
    }),
  );
}

/** An unhandled rejection arrives here too: Node raises it as an uncaught exception. */
function endOnFault(log: HubLog): void {
  process.on('uncaughtException', (error, origin) => {
    log.fatal('crashed', { origin, error });
    process.exit(EXIT.failed);
  });
  // Whoever reads our words may go away; the hub stays.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
