// The suites of `npm run bench`, in the order in which they are run.
import { bridgeScenarios } from './bridge-scenarios.ts';
import { kafkaScenarios } from './kafka-scenarios.ts';
import { memoryScenarios } from './memory-scenarios.ts';
import { mqttScenarios } from './mqtt-scenarios.ts';
import type { Scenario } from './probe.ts';
import { startUpScenarios } from './start-up-scenarios.ts';
import { storageScenarios } from './storage-scenarios.ts';

export interface Suite {
  readonly scenarios: readonly Scenario[];
  /** A hub, and the peers of this suite, run through all of it; probes start what they need. */
  readonly hasBrokers: boolean;
}

export const SUITES = {
  storage: { scenarios: storageScenarios, hasBrokers: false },
  kafka: { scenarios: kafkaScenarios, hasBrokers: true },
  mqtt: { scenarios: mqttScenarios, hasBrokers: true },
  bridge: { scenarios: bridgeScenarios, hasBrokers: true },
  memory: { scenarios: memoryScenarios, hasBrokers: false },
  'start-up': { scenarios: startUpScenarios, hasBrokers: false },
} as const satisfies Readonly<Record<string, Suite>>;

export type SuiteName = keyof typeof SUITES;

export function isSuite(name: string): name is SuiteName {
  return Object.hasOwn(SUITES, name);
}
