// Every sequence of this folder, in every version that it is of.
import { expect, it } from 'vitest';
import { serve } from '../front-end-fixture.ts';
import { connecting } from './connecting.ts';
import { malformed } from './malformed.ts';
import { publishing } from './publishing.ts';
import { play } from './sequence.ts';
import { subscribing } from './subscribing.ts';

it.each([
  ['connecting', connecting],
  ['publishing', publishing],
  ['subscribing', subscribing],
  ['malformed', malformed],
] as const)('bytes of %s are answered with bytes as written', async (_name, sequences) => {
  const serving = await serve();
  const problems: string[] = [];
  for (const sequence of sequences) {
    for (const version of sequence.versions) {
      const problem = await play(sequence, version, serving.port);
      if (problem !== undefined) problems.push(problem);
    }
  }
  expect(problems).toEqual([]);
  expect(serving.hub.log.events('error')).toEqual([]);
});
