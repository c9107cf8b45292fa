// kcat (librdkafka) as a Kafka client.
import { run } from '../helpers/child.ts';
import type { KafkaClient } from '../helpers/kafka-clients.ts';

/** Produces one record a call: then the value may be any bytes. */
export const kcat: KafkaClient = {
  name: 'kcat',
  groupsHeaders: false,

  async produce(port, topic, records) {
    for (const { key, value, headers } of records)
      await produceWithKcat(port, topic, { key, value, headers });
  },

  async consume(port, groupId, topic, count) {
    // Lengths in front of what may hold anything.
    const format = '%K %S %h\\n%k%s';
    const options = ['-X', 'auto.offset.reset=earliest', '-c', `${count}`, '-f', format];
    let output = await run('kcat', ['-q', '-b', `127.0.0.1:${port}`, '-G', groupId, topic, ...options]);
    return Array.from({ length: count }, () => {
      const head = /^(-?\d+) (-?\d+) (.*)\n/.exec(output.toString('latin1'));
      if (head === null) throw new Error(`kcat said: ${output}`);
      const [line, keyLength, valueLength, headersText = ''] = head;
      // The rest was read as latin1 to keep positions; names and values of headers are UTF-8.
      const headers = Buffer.from(headersText, 'latin1').toString();
      const take = (length: number): Buffer => {
        const bytes = output.subarray(0, length);
        output = output.subarray(length);
        return bytes;
      };
      take(line.length);
      return {
        key: Number(keyLength) < 0 ? null : take(Number(keyLength)),
        value: Number(valueLength) < 0 ? null : take(Number(valueLength)),
        headers: headers
          .split(',')
          .filter((header) => header !== '')
          .map((header) => {
            const equals = header.indexOf('=');
            return [header.slice(0, equals), Buffer.from(header.slice(equals + 1))] as const;
          }),
      };
    });
  },
};

export async function produceWithKcat(
  port: number,
  topic: string,
  record: Parameters<KafkaClient['produce']>[2][number],
  more: readonly string[] = [],
): Promise<void> {
  const { key, value, headers } = record;
  const common = ['-q', '-b', `127.0.0.1:${port}`, '-P', '-t', topic];
  const headerOptions = headers.flatMap(([name, text]) => ['-H', `${name}=${text}`]);
  const args = [...common, ...headerOptions, ...more];
  if (value === null) {
    // An empty line is no record to kcat; a key with nothing behind it is one, and with -Z its value is null.
    if (key === null) throw new Error('kcat cannot produce a record of nothing');
    await run('kcat', [...args, '-Z', '-K', ':'], { input: `${key}:\n` });
    return;
  }
  const keyOptions = key === null ? [] : ['-k', key.toString()];
  // No delimiter that occurs: standard input is one value.
  await run('kcat', [...args, ...keyOptions, '-D', '\u0001\u0002no delimiter\u0003'], { input: value });
}
