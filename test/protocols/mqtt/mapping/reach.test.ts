// Which Kafka topics a filter reads: none is left out that has a message for it.
import { fc, test } from '@fast-check/vitest';
import { describe, expect, it } from 'vitest';
import { Mappings } from '../../../../protocols/mqtt/mapping/mappings.ts';
import { filterPattern, rulesReaching } from '../../../../protocols/mqtt/mapping/reach.ts';
import type { MappingRule } from '../../../../protocols/mqtt/mapping/rule.ts';
import { naiveMatches } from '../naive-matcher.ts';
import { mappingRule } from './rule-fixture.ts';

const RULES: readonly MappingRule[] = [
  mappingRule({ match: 'a/{x}/b', topic: 'of-{x}' }),
  mappingRule({ match: 'b/+/#', topic: 'bees', direction: 'in' }),
  mappingRule({ match: 'a/{x}/{y}/#', topic: '{x}.{y}' }),
  mappingRule({ match: 'c/#', preset: 'dotted' }),
  mappingRule({ match: '+/c' }),
];

function reached(filter: string, kafkaTopic: string, rules = RULES): readonly number[] {
  return rulesReaching(filterPattern(filter), kafkaTopic, new Mappings(rules).rules);
}

const level = fc.constantFrom('a', 'b', 'c', 'd', '');
const topic = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'));
const filter = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 4 }), fc.boolean())
  .map(([levels, isOpen]) => [...levels, ...(isOpen || levels.length === 0 ? ['#'] : [])].join('/'))
  .filter((text) => text !== '');

describe('a filter', () => {
  test.prop([topic.filter((text) => text !== ''), filter])(
    'reads the topic of every message that it matches',
    (text, asked) => {
      fc.pre(naiveMatches(asked, text));
      const mappings = new Mappings(RULES);
      const { rule, kafkaTopic } = mappings.map(text);
      fc.pre(kafkaTopic !== undefined && rule?.rule.direction !== 'in');
      // Two empty levels in front are as good as one: the list of topics is the same.
      fc.pre(!text.startsWith('//'));
      const index = rule === undefined ? -1 : mappings.rules.indexOf(rule);
      expect(reached(asked, kafkaTopic)).toContain(index);
    },
  );

  it.each([
    ['a/1/b', 'of-1', [0]],
    ['a/1/b', 'of-2', []],
    ['a/1/#', 'of-1', [0]],
    ['a/1/b/#', '1.b', [2]],
    ['b/1/2', 'bees', []],
    ['c/1', 'c.1', [3]],
    ['c/1', 'c.2', []],
    ['d/#', 'd', [-1, 4]],
    ['#', 'anything', [-1, 4]],
    ['#', 'of-1', [-1, 0, 4]],
  ])('%s reads %s by rules %j', (asked, kafkaTopic, rules) => {
    expect([...reached(asked, kafkaTopic)].sort()).toEqual([...rules].sort());
  });
});
