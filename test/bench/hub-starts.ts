// Starts of the built hub that several measurements look at, and the ten thousand transactional ids that one may find.
import * as initProducerId from '../../protocols/kafka/messages/init-producer-id.ts';
import { type HubProcess, startHubProcess } from '../helpers/hub-process.ts';
import { processCpuSeconds, residentMiB } from './process-figures.ts';
import { RequestClient } from './request-client.ts';

/** Of one connection one request is served after the other: many share a flush. */
const CONNECTIONS = 100;

export interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
}

/** From before it is executed until `/health/ready` says so; it is left running. */
export async function timedStart(
  directory: string,
): Promise<{ readonly hub: HubProcess; readonly start: Start }> {
  const startedMs = performance.now();
  const hub = await startHubProcess(directory);
  const { status } = await fetch(`${hub.adminUrl}/health/ready`);
  const ms = performance.now() - startedMs;
  if (status !== 200) throw new Error(`/health/ready answers ${status}`);
  return { hub, start: { ms, cpuMs: 1_000 * processCpuSeconds(hub.pid), mib: residentMiB(hub.pid) } };
}

export async function startOnce(directory: string): Promise<Start> {
  const { hub, start } = await timedStart(directory);
  await hub.stop();
  return start;
}

export async function makeTransactionalIds({ kafkaPort }: HubProcess, count: number): Promise<void> {
  let next = 0;
  const make = async (): Promise<void> => {
    const client = await RequestClient.open(kafkaPort);
    while (next < count) {
      const transactionalId = `transactional-id-${next++}`;
      const answer = await client.ask(
        22,
        4,
        [initProducerId.InitProducerIdRequest, initProducerId.InitProducerIdResponse],
        { transactionalId, transactionTimeoutMs: 60_000, producerId: -1, producerEpoch: -1 },
      );
      if (answer.errorCode !== 0) throw new Error(`${transactionalId}: error ${answer.errorCode}`);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, make));
}
