// The abstract suites of aedes' packages are written for node:test; this runs them here, with the numbers of assertions that
// they plan.
import assert from 'node:assert';
import { it } from 'vitest';

export interface NodeTestContext {
  readonly assert: typeof assert;
  plan(count: number): void;
  diagnostic(message: string): void;
  fail(message?: string): void;
}

/** Some of them write a thousand times, one after another. */
const TIMEOUT_MS = 120_000;

export type NodeTest = (title: string, body: (context: NodeTestContext) => Promise<void>) => void;

export const nodeTest: NodeTest = (title, body) => {
  it(title, { timeout: TIMEOUT_MS }, async () => {
    let planned: number | undefined;
    let made = 0;
    const counting = new Proxy(assert, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          made++;
          return value.apply(target, values);
        };
      },
    });
    await body({
      assert: counting,
      plan: (count) => {
        planned = count;
      },
      diagnostic: () => undefined,
      fail: (message) => assert.fail(message),
    });
    if (planned !== undefined) assert.equal(made, planned, 'assertions made, and planned');
  });
};
