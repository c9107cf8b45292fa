// A hub in the test's own process for aedes, as its applications have it: no MQTT listener, one partition of state.
// What a hub imports when it starts: before the first test, not within its time.
import '../../../protocols/kafka/front-end.ts';
import '../../../protocols/mqtt/front-end.ts';
import '../../../src/broker.ts';
import '../../../src/config/load.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Polylog, startPolylog } from '../../../src/polylog.ts';

export interface AedesFixture extends Polylog {
  /** The hub stops and starts again on what it has on disk. */
  restart(): Promise<AedesFixture>;
  /** And its files are gone. */
  close(): Promise<void>;
}

export async function openAedesFixture(existing?: string): Promise<AedesFixture> {
  const directory = existing ?? (await mkdtemp(path.join(tmpdir(), 'polylog-aedes-')));
  const polylog = await startPolylog({
    config: {
      server: { data_dir: directory },
      listener: [{ name: 'kafka', protocol: 'kafka', bind: '127.0.0.1:0' }],
      topics: { state_partitions: 1 },
      storage: { flush_messages: 1_000_000 },
    },
  });
  return {
    ...polylog,
    restart: async () => {
      await polylog.close();
      return openAedesFixture(directory);
    },
    close: async () => {
      await polylog.close();
      await rm(directory, { recursive: true });
    },
  };
}
