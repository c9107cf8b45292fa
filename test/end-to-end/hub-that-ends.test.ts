// A hub process that ends while somebody measures or tests it: they are told, and not only that nothing answers.
import { expect, it } from 'vitest';
import { startHubProcess, takeOwnEnds, temporaryDirectory } from '../helpers/hub-process.ts';

it('one that ended by itself says how, and what it said last', async () => {
  const directory = temporaryDirectory();
  try {
    const { pid } = await startHubProcess(directory.path);
    process.kill(pid, 'SIGKILL');
    const told = expect.poll(() => takeOwnEnds().join(), { timeout: 60_000 });
    await told.toMatch(/by SIGKILL; the last it said:.*"ready"/s);
  } finally {
    directory.remove();
  }
});
