// What a check of the keys against each other finds.
import type { Path } from './schema-tree.ts';

export interface BrokenRule {
  readonly path: Path;
  readonly message: string;
  readonly hint?: string;
}

/** An element of an array, with its place there: others may have been refused. */
export interface Numbered<T> {
  readonly index: number;
  readonly value: T;
}
