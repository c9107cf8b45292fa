// `polylog sub` and `polylog pub`: over MQTT 5 itself, as any client. The client library is imported when one of them runs.
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { IClientOptions, IPublishPacket, MqttClient } from 'mqtt';
import { addTo } from './groups.ts';
import type { CommandLine } from './noun.ts';
import { EXIT, type Surroundings } from './surroundings.ts';
import { textLines } from './text-lines.ts';
import { countNumber } from './topics.ts';

interface MqttOptions {
  readonly url?: string;
  readonly qos: 0 | 1 | 2;
  readonly id?: string;
  readonly username?: string;
}

interface SubOptions extends MqttOptions {
  readonly from?: string;
  readonly count?: number;
  readonly output: 'text' | 'json';
  readonly newOnly?: boolean;
}

interface PubOptions extends MqttOptions {
  readonly message?: string;
  readonly file?: string;
  readonly lines?: boolean;
  readonly retain?: boolean;
  readonly property?: readonly string[];
}

const DEFAULT_URL = 'mqtt://127.0.0.1:1883';
const CONNECT_MS = 10_000;

const FROM_PLACES = 'earliest, an offset, a time such as 2026-09-01T00:00:00Z, or -1h';

const SUB_EXAMPLES = `
Examples:
  polylog sub '#'
  polylog sub 'plant/+/temp' 'plant/+/state' --qos 1
  polylog sub 'plant/#' --from -1h                  an hour of history first, then what comes
  polylog sub alarms --output json --count 1 | jq .payload
`;

const PUB_EXAMPLES = `
Examples:
  polylog pub plant/7/temp -m 21.5 --qos 1
  polylog pub plant/7/state -m on --retain
  polylog pub plant/7/image -f picture.jpg
  tail -f readings.txt | polylog pub plant/7/temp --lines
`;

const EXIT_CODES = '\nExit codes: 0 done, 1 failed or refused, 2 wrong usage, 3 the hub cannot be reached.\n';

export function addMqttClientCommands({ program, surroundings, finish }: CommandLine): void {
  addOptions(program.command('sub'))
    .description('subscribe over MQTT and print what comes')
    .argument('<filter...>', 'topic filters')
    .option('--from <place>', 'history first: earliest, an offset, a time, -1h')
    .option('--count <messages>', 'stop after so many', countNumber)
    .option('--new-only', 'no retained messages')
    .addOption(
      new Option('--output <form>', 'topic and text, or JSON').choices(['text', 'json']).default('text'),
    )
    .addHelpText('after', SUB_EXAMPLES + EXIT_CODES)
    .action(async (filters: readonly string[], options: SubOptions) =>
      finish(await subscribe(filters, options, surroundings)),
    );
  addOptions(program.command('pub'))
    .description('publish over MQTT; without -m and -f what the standard input holds')
    .argument('<topic>')
    .option('-m, --message <text>', 'the message')
    .option('-f, --file <file>', 'its bytes are the message')
    .option('--lines', 'each line of the standard input is a message')
    .option('--retain', 'keep it for those who subscribe later')
    .option('--property <name=value>', 'user property; may be repeated', addTo)
    .addHelpText('after', PUB_EXAMPLES + EXIT_CODES)
    .action(async (topic: string, options: PubOptions) =>
      finish(await publish(topic, options, surroundings)),
    );
}

function addOptions(command: Command): Command {
  return command
    .option('--url <url>', `the hub's MQTT listener (default: POLYLOG_MQTT, else ${DEFAULT_URL})`)
    .option('--qos <level>', '0, 1 or 2', qosOf, 0)
    .option('--id <client>', 'client identifier (default: one of the hub)')
    .option('--username <name>', 'with the password in POLYLOG_MQTT_PASSWORD')
    .showHelpAfterError(`(polylog ${command.name()} --help shows what there is)`)
    .exitOverride();
}

function qosOf(text: string): 0 | 1 | 2 {
  const qos = Number(text);
  if (qos === 0 || qos === 1 || qos === 2) return qos;
  throw new InvalidArgumentError('It must be 0, 1 or 2.');
}

/** What the client library rejects with when a SUBACK refuses. */
interface RefusedSubscribe extends Error {
  readonly packet?: {
    readonly granted?: readonly unknown[];
    readonly properties?: { readonly reasonString?: string };
  };
}

/** Reason codes of SUBACK (MQTT 5 §3.9.3) for what was typed: the hub's own, of `polylog.from`, and of a filter. */
const WRONG_USAGE_CODES: readonly unknown[] = [0x83, 0x8f];

/** What ends a command. */
export class MqttFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.name = 'MqttFailure';
    this.exitCode = exitCode;
  }
}

async function withClient(
  options: MqttOptions,
  surroundings: Surroundings,
  run: (client: MqttClient) => Promise<void>,
): Promise<number> {
  let client: MqttClient | undefined;
  try {
    client = await connectMqtt(options, surroundings);
    await run(client);
    await client.endAsync();
    return EXIT.done;
  } catch (error) {
    client?.end(true);
    surroundings.err(`${error instanceof Error ? error.message : error}\n`);
    return error instanceof MqttFailure ? error.exitCode : EXIT.failed;
  }
}

export async function connectMqtt(
  { url, id, username }: Pick<MqttOptions, 'url' | 'id' | 'username'>,
  { environment }: Surroundings,
): Promise<MqttClient> {
  const told = url ?? environment['POLYLOG_MQTT'] ?? DEFAULT_URL;
  if (!URL.canParse(told) || !/^(?:mqtts?|wss?):$/.test(new URL(told).protocol))
    throw new MqttFailure(`${told} is no URL such as ${DEFAULT_URL}`, EXIT.wrongUsage);
  const { connectAsync } = await import('mqtt');
  const password = environment['POLYLOG_MQTT_PASSWORD'];
  const settings: IClientOptions = {
    ...{ protocolVersion: 5, clean: true, reconnectPeriod: 0, connectTimeout: CONNECT_MS },
    ...(id === undefined ? { clientId: '' } : { clientId: id }),
    ...(username === undefined ? {} : { username }),
    ...(username === undefined || password === undefined ? {} : { password }),
  };
  try {
    return await connectAsync(told, settings);
  } catch (error) {
    const { code, message } = error as { code?: string | number; message: string };
    if (typeof code === 'number') throw new MqttFailure(`${told} refuses: ${message}`);
    throw new MqttFailure(`${told} cannot be reached: ${message === '' ? code : message}`, EXIT.notReachable);
  }
}

function subscribe(
  filters: readonly string[],
  { from, count = Number.POSITIVE_INFINITY, output, newOnly, ...options }: SubOptions,
  surroundings: Surroundings,
): Promise<number> {
  return withClient(options, surroundings, async (client) => {
    let left = count;
    const ended = new Promise<void>((resolve, reject) => {
      // One after the other: a reader that is slow lets the hub wait.
      client.handleMessage = (packet, taken) => {
        if (left <= 0) return;
        left--;
        const isLast = left <= 0;
        surroundings
          .outMuch(output === 'json' ? jsonOf(packet) : textOf(packet))
          .then((isRead) => (isLast || !isRead ? resolve() : taken()), reject);
      };
      client.once('disconnect', ({ reasonCode, properties }) => {
        reject(new MqttFailure(`the hub disconnected: ${properties?.reasonString ?? reasonCode}`));
      });
      client.once('close', () => reject(new MqttFailure('the connection was lost', EXIT.notReachable)));
      surroundings.interrupted?.addEventListener('abort', () => resolve());
    });
    // Whoever waits for it comes later.
    ended.catch(() => undefined);
    const rh = newOnly === true ? 2 : 0;
    await client
      .subscribeAsync(
        Object.fromEntries(filters.map((filter) => [filter, { qos: options.qos, rap: true, rh }])),
        from === undefined ? {} : { properties: { userProperties: { 'polylog.from': from } } },
      )
      .catch((error: RefusedSubscribe) => {
        // The library's own, of a filter that it does not send.
        if (/^Invalid topic /.test(error.message))
          throw new MqttFailure(
            `${error.message.slice('Invalid topic '.length)} is no topic filter`,
            EXIT.wrongUsage,
          );
        const told = error.packet?.properties?.reasonString;
        if (told === undefined) throw error;
        const places = from === undefined ? '' : ` (--from takes ${FROM_PLACES})`;
        const isTyped = error.packet?.granted?.some((code) => WRONG_USAGE_CODES.includes(code)) === true;
        throw new MqttFailure(`the hub refuses: ${told}${places}`, isTyped ? EXIT.wrongUsage : EXIT.failed);
      });
    await ended;
  });
}

function publish(
  topic: string,
  { message, file, lines, retain = false, property = [], ...options }: PubOptions,
  surroundings: Surroundings,
): Promise<number> {
  // With QoS 0 no answer would tell.
  if (/[+#\0]/.test(topic) || topic === '') {
    surroundings.err(
      `${JSON.stringify(topic)} is no topic to publish to: it has no wildcards, and is not empty\n`,
    );
    return Promise.resolve(EXIT.wrongUsage);
  }
  return withClient(options, surroundings, async (client) => {
    const userProperties: Record<string, string[]> = {};
    for (const each of property) {
      const at = each.indexOf('=');
      if (at < 1) throw new MqttFailure(`--property ${each}: it must be name=value`, EXIT.wrongUsage);
      userProperties[each.slice(0, at)] ??= [];
      userProperties[each.slice(0, at)]?.push(each.slice(at + 1));
    }
    const properties = property.length === 0 ? {} : { properties: { userProperties } };
    const send = async (payload: string | Buffer): Promise<void> => {
      const packet = await client.publishAsync(topic, payload, { qos: options.qos, retain, ...properties });
      const reason = packet !== undefined && 'reasonCode' in packet ? (packet.reasonCode ?? 0) : 0;
      if (reason >= 0x80) throw new MqttFailure(`the hub refuses: 0x${reason.toString(16)}`);
    };
    if (message !== undefined) await send(message);
    else if (file !== undefined) await send(readFileSync(path.resolve(surroundings.workingDirectory, file)));
    else if (lines === true)
      for await (const come of textLines(surroundings)) for (const line of come) await send(line);
    else await send(Buffer.concat(await bytesOf(surroundings)));
  });
}

async function bytesOf({ input }: Surroundings): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of input ?? []) pieces.push(piece);
  return pieces;
}

function textOf({ topic, payload }: IPublishPacket): string {
  return `${topic} ${payload.toString()}\n`;
}

function jsonOf({ topic, payload, qos, retain, properties }: IPublishPacket): string {
  const bytes = Buffer.from(payload);
  const isText = isUtf8(bytes);
  const { userProperties, contentType, responseTopic } = properties ?? {};
  return `${JSON.stringify({
    ...{
      topic,
      payload: bytes.toString(isText ? 'utf8' : 'base64'),
      payloadEncoding: isText ? 'utf8' : 'base64',
    },
    ...{ qos, retain, contentType, responseTopic, userProperties },
  })}\n`;
}
