// aedes-persistence's own abstract suite, over a hub; each test has a table of its own.
import { createRequire } from 'node:module';
import { afterAll, beforeAll } from 'vitest';
import { LogPersistence } from '../../../src/aedes/aedes-persistence.ts';
import { type AedesFixture, openAedesFixture } from './aedes-fixture.ts';
import { type NodeTest, nodeTest } from './node-test.ts';

interface SuiteOptions {
  readonly test: NodeTest;
  readonly testAsync: true;
  persistence(): Promise<LogPersistence>;
}

// The suite has no types.
const abstractTests = createRequire(import.meta.url)('aedes-persistence/abstract.js') as (
  options: SuiteOptions,
) => void;

let fixture: AedesFixture;
let tables = 0;

beforeAll(async () => {
  fixture = await openAedesFixture();
});

afterAll(() => fixture.close());

abstractTests({
  test: nodeTest,
  testAsync: true,
  persistence: () => LogPersistence.open(fixture.hub, `__aedes_${++tables}`),
});
