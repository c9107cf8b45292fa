// The server-side assignors by name.

import type { Assignor } from './assignor.ts';
import { assignRanges } from './range-assignor.ts';
import { assignUniformly } from './uniform-assignor.ts';

/** What is used while no member asks for one: Kafka's first of `group.consumer.assignors`. */
export const DEFAULT_ASSIGNOR = 'uniform';

export const ASSIGNORS: ReadonlyMap<string, Assignor> = new Map([
  ['uniform', assignUniformly],
  ['range', assignRanges],
]);
