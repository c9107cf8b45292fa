// What mqtt-clients.ts asks of every client, done with mosquitto_pub and mosquitto_sub.
import { deepEqual } from 'node:assert/strict';
import { Child, run } from '../helpers/child.ts';
import type { SaidMessage } from './said-message.ts';

/** QoS, RETAIN, topic, and payload in hexadecimal. */
const SHORT_FORMAT = 'message %q %r %t %x';
/** Of 5: each property a line of its own, none where there is none. */
const LONG_FORMAT = 'message %q %r %t %x\\ncontent %C\\nresponse %R\\ncorrelation %D\\nuser %P\\nend';

/** @returns what came of the record that `produce` writes, once there is a subscription for it */
export async function playMosquittoTools(
  port: number,
  version: 4 | 5,
  topic: string,
  produce: () => Promise<void>,
): Promise<SaidMessage> {
  const place = ['-p', `${port}`, '-V', version === 5 ? '5' : '311'];
  const publish = (name: string, payload: string, ...more: string[]): Promise<Buffer> =>
    run('mosquitto_pub', [...place, '-t', `${topic}/${name}`, '-s', ...more], { input: payload });
  const subscribe = (name: string, ...more: string[]): Child =>
    new Child('stdbuf', ['-oL', 'mosquitto_sub', '-d', ...place, '-t', `${topic}/${name}`, ...more]);
  const subscribed = async (name: string, ...more: string[]): Promise<Child> => {
    const child = subscribe(name, ...more);
    await child.waitFor(/^Subscribed/m);
    return child;
  };

  const atEachQos = await subscribed('qos/#', '-q', '2', '-C', '3', '-F', SHORT_FORMAT);
  for (const qos of [0, 1, 2]) await publish(`qos/${qos}`, `at ${qos}`, '-q', `${qos}`);
  deepEqual(
    await messagesOf(atEachQos, topic),
    [0, 1, 2].map((qos) => `${qos} 0 qos/${qos} at ${qos}`),
  );

  const session = ['-q', '2', '-c', '-i', `${topic}-away`, ...(version === 5 ? ['-x', '600'] : [])];
  await run('mosquitto_sub', [...place, '-t', `${topic}/session`, ...session, '-E']);
  for (const qos of [1, 2]) await publish('session', `at ${qos}`, '-q', `${qos}`);
  const back = subscribe('session', ...session, '-C', '2', '-F', SHORT_FORMAT);
  deepEqual(await messagesOf(back, topic), ['1 0 session at 1', '2 0 session at 2']);

  await publish('retained', 'kept', '-q', '1', '-r');
  const retained = subscribe('retained', '-q', '1', '-C', '2', '-F', SHORT_FORMAT);
  await retained.waitFor(/^message /m);
  await run('mosquitto_pub', [...place, '-t', `${topic}/retained`, '-q', '1', '-r', '-n']);
  deepEqual(await messagesOf(retained, topic), ['1 1 retained kept', '1 0 retained ']);

  const told = await subscribed('will', '-q', '1', '-C', '1', '-F', SHORT_FORMAT);
  const will = ['--will-topic', `${topic}/will`, '--will-payload', 'gone', '--will-qos', '1'];
  const breaks = await subscribed('nothing', ...will);
  breaks.kill('SIGKILL');
  deepEqual(await messagesOf(told, topic), ['1 0 will gone']);

  await publish('to-kafka', 'from MQTT', '-q', '2', ...(version === 5 ? publishProperties(topic) : []));

  const format = version === 5 ? LONG_FORMAT : SHORT_FORMAT;
  const fromKafka = await subscribed('from-kafka', '-q', '1', '-C', '1', '-F', format);
  await produce();
  const { stdout } = await fromKafka.finished;
  const at = (what: string): string | null => {
    const text = new RegExp(`^${what} (.+)$`, 'm').exec(stdout.toString('latin1'))?.[1];
    return text === undefined ? null : Buffer.from(text, 'latin1').toString();
  };
  const [, , to = '', payload = ''] = (at('message') ?? '').split(' ');
  const correlation = /^correlation (.+)$/m.exec(stdout.toString('latin1'))?.[1];
  return {
    topic: to,
    payload,
    contentType: at('content'),
    responseTopic: at('response'),
    correlationData: correlation === undefined ? null : Buffer.from(correlation, 'latin1').toString('hex'),
    // Names and values have no blanks and no colons here.
    userProperties: (at('user') ?? '')
      .split(' ')
      .filter((each) => each !== '')
      .map((each) => each.split(':') as [string, string]),
  };
}

function publishProperties(topic: string): string[] {
  const properties = [
    ['content-type', 'text/plain'],
    ['response-topic', `${topic}/answer`],
    // A byte of 0 ends an argument of a program.
    ['correlation-data', '\x01\x02'],
    ['payload-format-indicator', '1'],
    ['message-expiry-interval', '3600'],
    ['user-property', 'unit', '°C'],
    ['user-property', 'site', 'a'],
    ['user-property', 'unit', 'K'],
  ];
  return properties.flatMap((property) => ['-D', 'publish', ...property]);
}

/** `QOS RETAIN NAME PAYLOAD` of each message, once it has ended. */
async function messagesOf(child: Child, topic: string): Promise<string[]> {
  const { stdout } = await child.finished;
  return [...stdout.toString().matchAll(/^message (\d) (\d) (\S+) ([0-9a-f]*)$/gm)].map(
    ([, qos, retain, name = '', payload = '']) =>
      `${qos} ${retain} ${name.slice(topic.length + 1)} ${Buffer.from(payload, 'hex')}`,
  );
}
