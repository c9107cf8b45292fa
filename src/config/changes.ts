// What another configuration changes of the one in use: which keys take effect at once, which after a restart, and the
// configuration that is in use then, the one and the other put together.
import { isDeepStrictEqual } from 'node:util';
import type { Address } from './address.ts';
import { portsCollide } from './rules.ts';
import { type CheckedConfig, type CheckedListener, configSchema } from './schema.ts';
import { schemaTree, type TableNode } from './schema-tree.ts';

export interface ConfigChanges {
  /** Keys as messages have them: `mqtt.receive_maximum`, `listener.lan`; rules by what they match: `mapping."x/#".qos`. */
  readonly applied: readonly string[];
  readonly needsRestart: readonly string[];
  readonly unchanged: readonly string[];
  /** What is in use once the first are applied. */
  readonly merged: CheckedConfig;
}

/** Collects keys while the sections are gone through. */
interface Lists {
  readonly applied: string[];
  readonly needsRestart: string[];
  readonly unchanged: string[];
}

type Section = { readonly [key: string]: unknown };

export function changesBetween(running: CheckedConfig, next: CheckedConfig): ConfigChanges {
  const lists: Lists = { applied: [], needsRestart: [], unchanged: [] };
  const root = schemaTree(configSchema);
  if (root.kind !== 'table') throw new TypeError('the configuration is a table');
  const merged: { [section: string]: unknown } = {};
  for (const [name, node] of root.keys) {
    // The type of the whole has a type of its own for each section, which the schema's tree does not tell.
    const [before, after] = [running, next].map((config) => (config as unknown as Section)[name]);
    if (name === 'listener') merged[name] = mergeListeners(running.listener, next.listener, lists);
    else if (name === 'topic') merged[name] = compareByName(name, running.topic, next.topic, lists);
    else if (name === 'mapping') merged[name] = compareRules(running.mapping, next.mapping, lists);
    else if (node.kind === 'table')
      merged[name] = mergeTable(name, node, before as Section, after as Section, lists);
    else merged[name] = compare(name, before, after, lists);
  }
  // Each section is one of the two configurations', or both put together key by key.
  return { ...lists, merged: merged as unknown as CheckedConfig };
}

function compare(key: string, before: unknown, after: unknown, lists: Lists): unknown {
  lists[isDeepStrictEqual(before, after) ? 'unchanged' : 'applied'].push(key);
  return after;
}

function compareByName<T extends { readonly name: string }>(
  section: string,
  before: readonly T[],
  after: readonly T[],
  lists: Lists,
): readonly T[] {
  const names = new Set([...before, ...after].map(({ name }) => name));
  const find = (all: readonly T[], name: string) => all.find((each) => each.name === name);
  for (const name of names) compare(`${section}.${name}`, find(before, name), find(after, name), lists);
  return after;
}

type Rule = CheckedConfig['mapping'][number];

/** A rule's name is what it matches. Where the same rules come in another order, that is all that is told. */
function compareRules(before: readonly Rule[], after: readonly Rule[], lists: Lists): readonly Rule[] {
  const nameOf = ({ match, preset }: Rule): string => `mapping.${JSON.stringify(match ?? preset ?? '')}`;
  const left = [...before];
  const same: Rule[] = [];
  const changed: string[] = [];
  for (const rule of after) {
    const name = nameOf(rule);
    const at = left.findIndex((each) => nameOf(each) === name);
    const [was] = at < 0 ? [] : left.splice(at, 1);
    if (was === undefined) changed.push(name);
    else {
      same.push(was);
      const [one, other] = [was as Section, rule as Section];
      const members = new Set([...Object.keys(one), ...Object.keys(other)]);
      const differing = [...members].filter((key) => !isDeepStrictEqual(one[key], other[key]));
      if (differing.length === 0) lists.unchanged.push(name);
      changed.push(...differing.map((key) => `${name}.${key}`));
    }
  }
  changed.push(...left.map(nameOf));
  const wasInOrder = same.every(
    (rule, index) => index === 0 || before.indexOf(same[index - 1]!) < before.indexOf(rule),
  );
  if (!wasInOrder) changed.push('mapping');
  if (before.length + after.length === 0) lists.unchanged.push('mapping');
  lists.applied.push(...changed);
  return after;
}

function mergeTable(key: string, table: TableNode, before: Section, after: Section, lists: Lists): Section {
  const merged: { [key: string]: unknown } = {};
  for (const [name, node] of table.keys) {
    const inner = `${key}.${/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name)}`;
    if (node.kind === 'table') {
      merged[name] = mergeTable(inner, node, before[name] as Section, after[name] as Section, lists);
      continue;
    }
    if (before[name] === undefined && after[name] === undefined) continue;
    const isSame = isDeepStrictEqual(before[name], after[name]);
    const waits = !isSame && node.kind === 'value' && node.restart;
    lists[isSame ? 'unchanged' : waits ? 'needsRestart' : 'applied'].push(inner);
    const value = waits ? before[name] : after[name];
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

/**
 * One whose address or protocol is another stays as it is, whatever else is said of it; one that is new waits for a
 * restart when its port is still taken by one that was there.
 */
function mergeListeners(
  before: readonly CheckedListener[],
  after: readonly CheckedListener[],
  lists: Lists,
): readonly CheckedListener[] {
  const merged: CheckedListener[] = [];
  const waiting = new Set<string>();
  for (const listener of after) {
    const running = before.find(({ name }) => name === listener.name);
    if (running !== undefined) merged.push(mergeListener(running, listener, lists));
    else if (before.some(({ bind }) => portsCollide(bind, listener.bind))) waiting.add(listener.name);
    else merged.push(listener);
  }
  const wanted = (bind: Address) =>
    after.some((each) => waiting.has(each.name) && portsCollide(bind, each.bind));
  for (const listener of before) {
    if (after.some(({ name }) => name === listener.name)) continue;
    if (wanted(listener.bind)) merged.push(listener);
    lists[wanted(listener.bind) ? 'needsRestart' : 'applied'].push(`listener.${listener.name}`);
  }
  for (const { name } of after) {
    if (waiting.has(name)) lists.needsRestart.push(`listener.${name}`);
    else if (!before.some((each) => each.name === name)) lists.applied.push(`listener.${name}`);
  }
  return merged;
}

function mergeListener(before: CheckedListener, after: CheckedListener, lists: Lists): CheckedListener {
  const own: Lists = { applied: [], needsRestart: [], unchanged: [] };
  const root = schemaTree(configSchema);
  const node = root.kind === 'table' ? root.keys.get('listener') : undefined;
  if (node?.kind !== 'tables') throw new TypeError('the listeners are an array of tables');
  mergeTable(`listener.${after.name}`, node.element, before, after, own);
  const waits = own.needsRestart.length > 0;
  lists.unchanged.push(...own.unchanged);
  lists.needsRestart.push(...own.needsRestart);
  lists[waits ? 'needsRestart' : 'applied'].push(...own.applied);
  return waits ? before : after;
}
