// Pages of names: whatever order the names are in, page behind page is the sorted list, each name once.
import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { byCodeUnits, pageOfNames } from '../../../../protocols/mqtt/directory/name-page.ts';

function allPages(names: Iterable<string>, limit: number, search?: string): string[] {
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = pageOfNames(names, { after, limit, search });
    expect(page.names.length).toBeLessThanOrEqual(limit);
    seen.push(...page.names);
    if (!page.hasMore) return seen;
    after = page.names.at(-1);
  }
}

describe('pages of names', () => {
  test.prop([
    fc.uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 60 }),
    fc.integer({ min: 1, max: 20 }),
  ])('are the sorted list', (names, limit) => {
    expect(allPages(names, limit)).toEqual([...names].sort(byCodeUnits));
  });

  test.prop([fc.array(fc.constantFrom('Ab', 'aB', 'b', 'c', 'abc')), fc.integer({ min: 1, max: 4 })])(
    'search without regard to case, and name nothing twice',
    (names, limit) => {
      const wanted = [...new Set(names)].filter((name) => name.toLowerCase().includes('ab'));
      expect(allPages(names, limit, 'AB')).toEqual(wanted.sort(byCodeUnits));
    },
  );

  it('of 100,000 names look at each once and keep few', () => {
    let looked = 0;
    function* names(): Generator<string> {
      for (let at = 0; at < 100_000; at++) {
        looked++;
        yield `client-${String((at * 7919) % 100_000).padStart(6, '0')}`;
      }
    }
    const page = pageOfNames(names(), { limit: 3, after: 'client-050000' });
    expect(page).toEqual({ names: ['client-050001', 'client-050002', 'client-050003'], hasMore: true });
    expect(looked).toBe(100_000);
  });
});
