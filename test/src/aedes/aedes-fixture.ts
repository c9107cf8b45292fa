// A hub in the test's own process for aedes: no MQTT listener, one partition of state.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AedesHub } from '../../../src/aedes/aedes-store.ts';
import { startHub, type TestHub } from '../../helpers/hub.ts';

export interface AedesFixture extends AedesHub {
  readonly directory: string;
  readonly kafkaPort: number;
  readonly running: TestHub;
  /** The hub stops and starts again on what it has on disk. */
  restart(): Promise<AedesFixture>;
  close(): Promise<void>;
}

export async function openAedesFixture(existing?: string): Promise<AedesFixture> {
  const directory = existing ?? (await mkdtemp(path.join(tmpdir(), 'polylog-aedes-')));
  const running = await startHub(directory, '[topics]\nstate_partitions = 1\n[storage]\nflush_messages = 1000000\n');
  const { broker } = running;
  const { messaging } = broker;
  if (messaging === undefined) throw new Error('nothing speaks MQTT');
  return {
    directory,
    running,
    hub: broker.hub,
    messaging,
    kafkaPort: running.kafkaPort,
    restart: async () => {
      await running.stop();
      return openAedesFixture(directory);
    },
    close: async () => {
      await running.stop();
      await rm(directory, { recursive: true });
    },
  };
}
