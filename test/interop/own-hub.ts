// A hub of a case's own, on ports that stay its: one that can be stopped or killed under its clients and comes back
// where they look for it.
import { createServer } from 'node:net';
import { describeRunning } from '../helpers/child.ts';
import { type HubProcess, startHubProcess, temporaryDirectory } from '../helpers/hub-process.ts';

export interface OwnHub {
  readonly kafkaPort: number;
  readonly mqttPort: number;
  readonly adminPort: number;
  readonly directory: string;
  /** SIGTERM, its end, and a start. */
  restart(): Promise<void>;
  /** SIGKILL, its end, and a start. */
  killAndStart(): Promise<void>;
}

/** Runs `use` with a hub that is stopped, and whose files are removed, afterwards; a failure tells what all that runs said. */
export async function withOwnHub<Result>(
  more: string,
  use: (hub: OwnHub) => Promise<Result>,
): Promise<Result> {
  const directory = temporaryDirectory();
  const ports = { kafka: await freePort(), mqtt: await freePort(), http: await freePort() };
  const start = (): Promise<HubProcess> => startHubProcess(directory.path, more, undefined, ports);
  let running = await start();
  const stop = async (): Promise<void> => {
    const { code, stderr } = await running.stop();
    if (code !== 0) throw new Error(`the hub did not stop cleanly: exit ${code}\n${stderr}`);
  };
  try {
    const result = await use({
      kafkaPort: ports.kafka,
      mqttPort: ports.mqtt,
      adminPort: ports.http,
      directory: directory.path,
      async restart() {
        await stop();
        running = await start();
      },
      async killAndStart() {
        await running.kill();
        running = await start();
      },
    });
    await stop();
    return result;
  } catch (error) {
    // What the hub and its clients said is lost once they are ended.
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`${problem}\nstill running:\n${describeRunning()}`, { cause: error });
  } finally {
    await running.kill();
    directory.remove();
  }
}

/**
 * Below those that systems hand out: nobody is given it while the hub is away, and a client that knocks meanwhile is
 * not connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
