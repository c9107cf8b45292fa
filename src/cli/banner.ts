// What `polylog start` prints once it serves, in plain words: where it listens, where the data is, how long recovery
// took, and a line each to try it.
import type { ListenerView } from '../../protocols/port.ts';
import { formatAddress, isWildcard } from '../config/address.ts';
import type { Recovery } from '../recovery.ts';

export interface BannerFacts {
  readonly version: string;
  readonly readyAfterMs: number;
  readonly configFile: string;
  readonly dataDirectory: string;
  readonly listeners: readonly ListenerView[];
  readonly recovery: Recovery;
}

const SPOKEN: Readonly<Record<string, string>> = {
  kafka: 'Kafka clients',
  mqtt: 'MQTT 3.1, 3.1.1 and 5 clients',
  'mqtt-ws': 'MQTT over WebSocket, path /mqtt',
  http: 'admin HTTP',
};

export function banner(facts: BannerFacts): string {
  const lines = [
    `Polylog ${facts.version} is ready after ${Math.round(facts.readyAfterMs)} ms.`,
    '',
    ...facts.listeners.map(listenerLine),
    '',
    `Data is in ${facts.dataDirectory}; ${recoveryPhrase(facts.recovery)}.`,
    `Configured by ${facts.configFile}.`,
    ...tryLines(facts.listeners),
    '',
    'Ctrl-C stops it.',
  ];
  return `${lines.join('\n')}\n`;
}

function listenerLine({ name, protocol, host, port }: ListenerView): string {
  return `  ${name.padEnd(8)} ${formatAddress({ host, port }).padEnd(21)} ${SPOKEN[protocol] ?? protocol}`;
}

function recoveryPhrase({
  durationMs,
  partitions,
  recoveredBytes,
  cutBytes,
  previousStopWasClean,
}: Recovery): string {
  const opened = `recovery took ${durationMs} ms (${partitions} ${partitions === 1 ? 'partition' : 'partitions'}`;
  if (previousStopWasClean && recoveredBytes === 0 && cutBytes === 0)
    return `${opened}, nothing to read again)`;
  const cut = cutBytes === 0 ? '' : `, ${cutBytes} bytes of torn batches cut`;
  return `${opened}, ${recoveredBytes} bytes read again${cut})`;
}

/** In the order in which to type them: a subscriber, a producer, a look at the log. */
function tryLines(listeners: readonly ListenerView[]): string[] {
  const at = (protocol: string) => {
    const listener = listeners.find((each) => each.protocol === protocol);
    if (!listener) return undefined;
    return { host: isWildcard(listener.host) ? '127.0.0.1' : listener.host, port: listener.port };
  };
  const [kafka, mqtt, http] = [at('kafka'), at('mqtt'), at('http')];
  const lines: string[] = [];
  if (mqtt) lines.push(`  mosquitto_sub -h ${mqtt.host} -p ${mqtt.port} -t '#' -v`);
  if (kafka) lines.push(`  echo 'hello from Kafka' | kcat -P -b ${formatAddress(kafka)} -t hello`);
  if (http) lines.push(`  curl -s http://${formatAddress(http)}/api/v1/topics/hello/offsets`);
  return lines.length === 0 ? [] : ['', 'Try it, a terminal each:', ...lines];
}
