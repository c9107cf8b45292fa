// The dashboard and the alert rules that are shipped ask for nothing that the hub does not give.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { METRICS, PREFIX } from '../../../src/metrics/definitions.ts';
import { processRegistry } from '../../../src/metrics/metrics.ts';

const deploy = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../config/deploy', name), 'utf8');

const ENDINGS = ['_bucket', '_sum', '_count'];
const ofProcess = new Set(
  processRegistry()
    .getMetricsAsArray()
    .map(({ name }) => name),
);

/** Metrics of an expression, with the labels that it asks for in braces. */
function askedFor(expression: string): { readonly name: string; readonly labels: readonly string[] }[] {
  return [...expression.matchAll(/\b((?:polylog|nodejs|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name, labels]) => ({
      name: name!,
      labels: [...(labels ?? '').matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => label!),
    }),
  );
}

function complaint({ name, labels }: ReturnType<typeof askedFor>[number]): string | undefined {
  if (!name.startsWith(PREFIX)) return ofProcess.has(name) ? undefined : `there is no ${name}`;
  const own = name.slice(PREFIX.length);
  const ending = ENDINGS.find((each) => own.endsWith(each) && own.slice(0, -each.length) in METRICS);
  const base = ending === undefined ? own : own.slice(0, -ending.length);
  if (!Object.hasOwn(METRICS, base)) return `there is no ${name}`;
  const metric = METRICS[base as keyof typeof METRICS];
  if ((metric.type === 'histogram') !== (ending !== undefined)) return `${name} is a ${metric.type}`;
  const known: readonly string[] = [...metric.labels, 'instance', 'job', 'le'];
  const unknown = labels.filter((label) => !known.includes(label));
  return unknown.length === 0 ? undefined : `${name} has no label ${unknown}`;
}

describe.each(['grafana.json', 'alerts.yml'])('%s', (file) => {
  const asked = askedFor(deploy(file).replaceAll('\\"', '"'));

  it('asks for something', () => expect(asked.length).toBeGreaterThan(9));

  it('asks for what there is', () => {
    expect(asked.map(complaint).filter((each) => each !== undefined)).toEqual([]);
  });
});

it('a name that is not there would be found', () => {
  const asked = askedFor(
    'rate(polylog_nothing_total{x="1"}[1m]) + polylog_groups{color="red"} + polylog_request_seconds',
  );
  expect(asked.map(complaint)).toEqual([
    'there is no polylog_nothing_total',
    'polylog_groups has no label color',
    'polylog_request_seconds is a histogram',
  ]);
});
