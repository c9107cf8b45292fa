// mqemitter's own abstract suite, over a hub.
import { createRequire } from 'node:module';
import { afterAll, beforeAll } from 'vitest';
import { openEmitter } from '../../../src/aedes/aedes-store.ts';
import type { EmitterOptions, LogEmitter } from '../../../src/aedes/log-emitter.ts';
import { type AedesFixture, openAedesFixture } from './aedes-fixture.ts';
import { type NodeTest, nodeTest } from './node-test.ts';

type Suite = (options: { builder(options?: EmitterOptions): LogEmitter; test: NodeTest }) => void;

// The suite has no types.
const abstractTests = createRequire(import.meta.url)('mqemitter/abstractTest.js') as Suite;

let fixture: AedesFixture;

beforeAll(async () => {
  fixture = await openAedesFixture();
});

afterAll(() => fixture.close());

abstractTests({ builder: (options) => openEmitter(fixture, options), test: nodeTest });
