// What config/deploy/ runs is what there is: configurations that pass the check, ports that agree, files that exist,
// commands that the program has.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runCommandLine } from '../../src/cli/program.ts';
import { loadConfig, readConfig } from '../../src/config/load.ts';
import { formatIssue } from '../../src/config/sources.ts';

const root = path.join(import.meta.dirname, '../..');
const deploy = (name: string): string => readFileSync(path.join(root, 'config/deploy', name), 'utf8');

interface Listener {
  readonly name: string;
  readonly protocol: string;
  readonly host: string;
  readonly port: number;
}

/** Of a configuration that is sound. */
async function listenersOf(
  text: string,
  environment: Record<string, string> = {},
): Promise<readonly Listener[]> {
  const options = { file: 'polylog.toml', environment, settings: [], workingDirectory: root };
  const { config, issues } = readConfig(text, options);
  if (config === undefined) throw new Error(issues?.map(formatIssue).join('\n'));
  expect(config.broker.dataDirectory).toBe('/var/lib/polylog');
  return config.broker.listeners;
}

const portsOf = (listeners: readonly { readonly port: number }[]): number[] =>
  listeners.map(({ port }) => port).sort((left, right) => left - right);

/** Instructions with their arguments; lines that go on are one. */
const dockerfile = deploy('Dockerfile')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .map((line) => /^([A-Z]+) (.*)$/.exec(line))
  .flatMap((match) => (match === null ? [] : [{ instruction: match[1]!, given: match[2]! }]));
const given = (instruction: string): string[] =>
  dockerfile.filter((each) => each.instruction === instruction).map((each) => each.given);

/** Whether there is such a command and such options: its help says so. */
async function isCommand([command = '', ...argv]: readonly string[]): Promise<boolean> {
  let help = '';
  const exitCode = await runCommandLine([command, '--help'], {
    out: (text) => {
      help += text;
    },
    outMuch: async () => true,
    err: () => undefined,
    environment: {},
    workingDirectory: root,
  });
  const options = argv.filter((word) => word.startsWith('--'));
  return (
    exitCode === 0 && help.includes(`polylog ${command} `) && options.every((option) => help.includes(option))
  );
}

describe('the image', () => {
  it('exposes every port that its configuration binds, for all to reach', async () => {
    const listeners = await listenersOf(deploy('container.toml'));
    expect(listeners.every(({ host }) => host === '0.0.0.0')).toBe(true);
    expect(portsOf(listeners)).toEqual(
      portsOf(
        given('EXPOSE')[0]!
          .split(' ')
          .map((port) => ({ port: Number(port) })),
      ),
    );
  });

  it('tells Kafka clients of either listener the name that they can resolve', async () => {
    const options = { file: 'config/deploy/container.toml', settings: [], workingDirectory: root };
    const advertised = async (environment: Record<string, string>) =>
      (await loadConfig({ ...options, environment })).config?.broker.listeners.flatMap(
        ({ advertised: told }) => told ?? [],
      );
    expect(await advertised({})).toEqual([
      { host: 'localhost', port: 9092 },
      { host: 'polylog', port: 19092 },
    ]);
    expect((await advertised({ POLYLOG_OUTSIDE: 'gateway.lan:9092' }))?.[0]).toEqual({
      host: 'gateway.lan',
      port: 9092,
    });
  });

  it('copies what there is, and all that the build reads', () => {
    const copied = given('COPY')
      .filter((each) => !each.startsWith('--from'))
      .flatMap((each) => each.split(' ').slice(0, -1));
    expect(copied.filter((each) => !existsSync(path.join(root, each)))).toEqual([]);
    const { include } = JSON.parse(readFileSync(path.join(root, 'tsconfig.build.json'), 'utf8')) as {
      include: string[];
    };
    expect(copied).toEqual(expect.arrayContaining([...include, 'tsconfig.json', 'tsconfig.build.json']));
    const { files } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      files: string[];
    };
    expect(copied).toEqual(
      expect.arrayContaining(files.filter((each) => each !== 'dist' && !each.startsWith('!'))),
    );
  });

  it('runs commands that there are, not as root, on a volume', async () => {
    const health = JSON.parse(/CMD (\[.*\])$/.exec(given('HEALTHCHECK')[0]!)![1]!) as string[];
    expect(health[0]).toBe('polylog');
    expect(await isCommand(health.slice(1))).toBe(true);
    expect(JSON.parse(given('ENTRYPOINT')[0]!)).toEqual(['polylog']);
    expect(await isCommand(JSON.parse(given('CMD')[0]!) as string[])).toBe(true);
    expect([given('USER'), given('VOLUME'), given('STOPSIGNAL')]).toEqual([
      ['node'],
      ['/var/lib/polylog'],
      ['SIGTERM'],
    ]);
    const bin = (
      JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { bin: { polylog: string } }
    ).bin;
    expect(given('RUN').join('\n')).toContain(`/opt/polylog/${bin.polylog} `);
  });
});

describe('compose.yaml', () => {
  const { services, volumes } = parse(deploy('compose.yaml')) as {
    services: {
      polylog: Record<string, unknown> & {
        ports: string[];
        volumes: string[];
        environment: Record<string, string>;
      };
    };
    volumes: Record<string, unknown>;
  };

  it('publishes what is listened to, but for the port of neighbours', async () => {
    const { ports, environment } = services.polylog;
    const published = ports.map((each) => each.split(':').slice(-2).map(Number));
    expect(published.every(([outside, inside]) => outside === inside)).toBe(true);
    const listeners = await listenersOf(deploy('container.toml'), {
      POLYLOG_INSIDE: environment['POLYLOG_INSIDE']!,
    });
    const outside = listeners.filter(({ name }) => name !== 'kafka-inside');
    expect(portsOf(published.map(([port]) => ({ port: port! })))).toEqual(portsOf(outside));
    expect(environment['POLYLOG_INSIDE']).toBe('polylog:19092');
  });

  it('builds from the file beside it, and keeps the data', () => {
    const { build, volumes: mounted } = services.polylog;
    const { context, dockerfile: file } = build as { context: string; dockerfile: string };
    const from = path.join(root, 'config/deploy', context);
    expect([path.resolve(from), existsSync(path.join(from, file))]).toEqual([path.resolve(root), true]);
    expect(mounted.map((each) => each.split(':'))).toEqual([['data', '/var/lib/polylog']]);
    expect(Object.keys(volumes)).toEqual(['data']);
  });
});

describe('kubernetes.yaml', () => {
  interface Port {
    readonly name: string;
    readonly port: number;
    readonly containerPort: number;
    readonly targetPort: string;
  }
  interface Probe {
    readonly httpGet: { readonly path: string; readonly port: string };
  }
  const documents = parseAllDocuments(deploy('kubernetes.yaml')).map((each) => {
    expect(each.errors).toEqual([]);
    return each.toJS() as {
      kind: string;
      metadata: { name: string };
      data: Record<string, string>;
      spec: Record<string, never>;
    };
  });
  const ofKind = (kind: string) => documents.filter((each) => each.kind === kind);
  const [set] = ofKind('StatefulSet');
  const { spec: pod, metadata } = (
    set!.spec as unknown as {
      template: {
        spec: Record<string, never>;
        metadata: { labels: Record<string, string>; annotations: Record<string, string> };
      };
    }
  ).template;
  const [container] = (pod as unknown as { containers: (Record<string, Probe> & { ports: Port[] })[] })
    .containers;
  const configuration = ofKind('ConfigMap')[0]!.data['polylog.toml']!;

  it('has a port of the container, and one of the service, for each listener', async () => {
    const listeners = (await listenersOf(configuration)).map(({ name, port }) => ({ name, port }));
    const { ports } = container as unknown as { ports: Port[] };
    expect(ports.map(({ name, containerPort: port }) => ({ name, port }))).toEqual(listeners);
    for (const service of ofKind('Service')) {
      const { ports: served, selector } = service.spec as unknown as {
        ports: Port[];
        selector: Record<string, string>;
      };
      for (const { name, port, targetPort } of served) {
        expect(listeners).toContainEqual({ name, port });
        expect(targetPort).toBe(name);
      }
      expect(metadata.labels).toMatchObject(selector);
    }
  });

  it('probes routes that there are, on the port that serves them', async () => {
    const admin = (await listenersOf(configuration)).find(({ protocol }) => protocol === 'http');
    for (const [probe, route] of [
      ['startupProbe', '/health/ready'],
      ['readinessProbe', '/health/ready'],
      ['livenessProbe', '/health/live'],
    ] as const)
      expect([probe, container![probe]?.httpGet]).toEqual([probe, { path: route, port: admin?.name }]);
    expect(metadata.annotations).toMatchObject({
      'prometheus.io/port': `${admin?.port}`,
      'prometheus.io/path': '/metrics',
    });
  });

  it('mounts the disk and the configuration where they are looked for', () => {
    const { volumeMounts } = container as unknown as { volumeMounts: { name: string; mountPath: string }[] };
    expect(volumeMounts).toEqual([
      { name: 'data', mountPath: '/var/lib/polylog' },
      { name: 'config', mountPath: path.dirname((JSON.parse(given('CMD')[0]!) as string[]).at(-1)!) },
    ]);
    const { serviceName } = set!.spec as unknown as { serviceName: string };
    expect(ofKind('Service').map((each) => each.metadata.name)).toContain(serviceName);
  });
});

describe('polylog.service', () => {
  const unit = deploy('polylog.service');
  const settingOf = (key: string): string | undefined => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1];

  it.each(['ExecStartPre', 'ExecStart'])('%s is a command of the package', async (key) => {
    const [program, ...argv] = settingOf(key)!.split(' ');
    expect(program).toBe('/opt/polylog/node_modules/.bin/polylog');
    expect(await isCommand(argv)).toBe(true);
  });

  it('waits for the hub to say that it is ready, watches it, and lets it stop in time', () => {
    expect([settingOf('Type'), settingOf('NotifyAccess'), settingOf('WatchdogSec')]).toEqual([
      'notify',
      'all',
      '30s',
    ]);
    expect(Number.parseInt(settingOf('TimeoutStopSec')!, 10)).toBeGreaterThan(5);
    expect(Number(settingOf('LimitNOFILE'))).toBeGreaterThanOrEqual(65_536);
  });
});
