// mosquitto_sub and mosquitto_pub as MQTT clients of both versions.
import { Child, run } from '../helpers/child.ts';
import type { MqttClient, MqttMessage } from '../helpers/mqtt-clients.ts';

function mosquitto(version: 4 | 5): MqttClient {
  const protocol = ['-V', version === 5 ? '5' : '311'];
  return {
    name: version === 5 ? 'mosquitto 5' : 'mosquitto 3.1.1',
    version,

    async subscribe(port, filter, qos) {
      // -d says when the subscription stands; the payload in hex says where it ends.
      const args = [
        '-d',
        '-p',
        `${port}`,
        ...protocol,
        '-t',
        filter,
        '-q',
        `${qos}`,
        '-F',
        'message %x %t %P',
      ];
      const child = new Child('stdbuf', ['-oL', 'mosquitto_sub', ...args], { timeoutMs: 300_000 });
      await child.waitFor(/^Subscribed/m);
      let seen = 0;
      return {
        async next() {
          seen += 1;
          const pattern = new RegExp(`(?:^message [^\\n]*\\n[^]*?){${seen - 1}}^(message [^\\n]*)\\n`, 'm');
          return parseMessage((await child.waitFor(pattern))[1] ?? '');
        },
        async close() {
          // On SIGTERM it says goodbye from its signal handler, and now and then waits for itself for ever.
          child.kill('SIGKILL');
          await child.finished;
        },
      };
    },

    async publish(port, { topic, payload, userProperties }, qos) {
      // Given any, mosquitto_pub speaks MQTT 5 whatever -V says.
      const properties = (version === 5 ? userProperties : []).flatMap(([name, value]) => [
        '-D',
        'publish',
        'user-property',
        name,
        value,
      ]);
      const args = ['-p', `${port}`, ...protocol, '-t', topic, '-q', `${qos}`, '-s', ...properties];
      await run('mosquitto_pub', args, { input: payload });
    },
  };
}

/** `message <hex payload> <topic> <name:value name:value …>`, names and values without blanks in these tests. */
function parseMessage(line: string): MqttMessage {
  const [, payload = '', topic = '', ...properties] = line.trimEnd().split(' ');
  return {
    topic,
    payload: Buffer.from(payload, 'hex'),
    userProperties: properties.map((property) => {
      const colon = property.indexOf(':');
      return [property.slice(0, colon), property.slice(colon + 1)] as const;
    }),
  };
}

export const mosquittoClients: readonly MqttClient[] = [mosquitto(4), mosquitto(5)];
