// Ends a test run with one line that any program can read: `N passed, N failed`.
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const { passed, failed, skipped } = countTests(modules);
    // A file that could not be read, or an error outside any test, is a failure that no test shows.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length;
    const notRun = skipped > 0 ? [`${skipped} not run (the reason stands in each title)\n`] : [];
    const lines = `${notRun}${passed} passed, ${failed + broken} failed\n`;
    // The summary of the default reporter is still to come; this line is to be the last.
    process.once('exit', () => process.stdout.write(lines));
  }
}

function countTests(modules: readonly TestModule[]): { passed: number; failed: number; skipped: number } {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'pending') counts.failed += 1;
      else counts[state] += 1;
    }
  }
  return counts;
}
