// What protocols/mqtt/README.md says is served is what the sources have: packets, properties, reason codes, limits.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PACKET_TYPE } from '../../../protocols/mqtt/framing.ts';
import { REASON } from '../../../protocols/mqtt/reason-codes.ts';
import {
  differences,
  handledPackets,
  PACKETS,
  packetTable,
  policyOnly,
  propertyTable,
  reasonTable,
} from './coverage-tables.ts';

const readme = readFileSync('protocols/mqtt/README.md', 'utf8');

/** The formatter pads columns. */
const plain = (text: string | undefined) => text?.replace(/ +/g, ' ').replace(/-{3,}/g, '---').trim();

it.each([
  ['packets', packetTable],
  ['properties', propertyTable],
  ['reasons', reasonTable],
  ['differences', differences],
])('what is told of %s is what the sources have', (name, render) => {
  const table = new RegExp(`<!-- ${name} -->\\s([\\s\\S]*?)\\s<!-- /${name} -->`).exec(readme)?.[1];
  expect(plain(table)).toBe(plain(render()));
});

describe('packets', () => {
  it('are all that there are', () => {
    expect(Object.keys(PACKETS)).toEqual(Object.keys(PACKET_TYPE));
  });

  it('of clients have handlers', () => {
    const ofClients = Object.entries(PACKETS).filter(([, { from }]) => from !== 'hub');
    expect(ofClients.map(([name]) => name).sort()).toEqual(handledPackets().sort());
  });
});

it('a reason code is said somewhere, but for those that a policy alone may say', () => {
  const sources = readdirSync('protocols/mqtt', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'reason-codes.ts')
    .map((name) => readFileSync(`protocols/mqtt/${name}`, 'utf8').replace(/^ +\[REASON\..*$/gm, ''))
    .join('\n');
  const unsaid = Object.keys(REASON).filter((name) => !new RegExp(`REASON\\.${name}\\b`).test(sources));
  // A client says it.
  expect(unsaid.filter((name) => name !== 'DISCONNECT_WITH_WILL')).toEqual(policyOnly());
});

it('limits that are named are keys of the configuration', () => {
  const keys = new Set(
    [...readFileSync('config/README.md', 'utf8').matchAll(/^\| `([^`]+)`/gm)].map(([, key]) => key!),
  );
  const named = [
    ...`${packetTable()}${propertyTable()}${reasonTable()}`.matchAll(
      /`((?:mqtt\.[a-z]+_|topics\.|\[\[)[^`]+)`/g,
    ),
  ];
  expect(named.length).toBeGreaterThan(20);
  expect(named.map(([, key]) => key!).filter((key) => !keys.has(key))).toEqual([]);
});
