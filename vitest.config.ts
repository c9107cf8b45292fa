// The test runner's configuration: every *.test.ts under test/, but those that need programs from elsewhere.
import { defineConfig } from 'vitest/config';
import { CountReporter } from './test/count-reporter.ts';
import { LongestFirst } from './test/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**', 'test/bench/**', 'node_modules/**'],
    globalSetup: ['test/build-once.ts'],
    reporters: ['default', new CountReporter()],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    pool: 'forks',
    // Tests make garbage at a rate; in V8's usual young generation much of it lives long enough to be copied.
    execArgv: ['--min-semi-space-size=16', '--max-semi-space-size=32'],
    // Files of one worker share what they import: no module here keeps state, and loading is most of a short test's cost.
    isolate: false,
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
  },
});
