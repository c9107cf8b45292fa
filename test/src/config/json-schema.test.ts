// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations are full of them.
// The schema for editors is that of the program: what is shipped is right by it, and mistakes are found.
import { readFile } from 'node:fs/promises';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { jsonSchemaText } from '../../../src/config/json-schema.ts';
import { LISTENER } from './fixtures.ts';

const schema: Parameters<typeof z.fromJSONSchema>[0] = JSON.parse(jsonSchemaText());
const reader = z.fromJSONSchema(schema);
const problems = (text: string) => reader.safeParse(parse(text)).error?.issues ?? [];

it('config/polylog.schema.json is what polylog check --schema prints', async () => {
  expect(JSON.parse(await readFile('config/polylog.schema.json', 'utf8'))).toEqual(schema);
});

it.each(['config/polylog.toml', 'config/examples/gateway-lan.toml', 'config/examples/ephemeral.toml'])(
  '%s is right by it, and says where it is',
  async (file) => {
    const text = await readFile(file, 'utf8');
    const schemaFile = /^#:schema (\S+)\n/.exec(text)?.[1] ?? 'nowhere';
    expect(new URL(schemaFile, `file:///${file}`).pathname).toBe('/config/polylog.schema.json');
    expect(problems(text)).toEqual([]);
  },
);

describe('a text', () => {
  it.each([
    ['a duration with a unit', '[kafka]\nidle_timeout = "1h30m"', true],
    ['a duration without', '[kafka]\nidle_timeout = "90"', false],
    ['a bare number where a duration is wanted', '[kafka]\nidle_timeout = 90', false],
    ['a size', '[kafka]\nrequest_size_max = "1.5MiB"', true],
    ['a size in no unit', '[kafka]\nrequest_size_max = "1.5MeB"', false],
    ['a variable for a number', '[mqtt]\nreceive_maximum = "${MAX:7}"', true],
    ['a variable for a choice', '[log]\nlevel = "${LEVEL}"', true],
    ['another choice', '[log]\nlevel = "loud"', false],
    ['an unknown key', '[mqtt]\nrecieve_maximum = 7', false],
    ['an unknown section', '[mqqt]', false],
    ['a number that is too large', '[mqtt]\nreceive_maximum = 65536', false],
    ["Kafka's bare milliseconds", '[topics.config]\n"retention.ms" = -1', true],
    ['a listener without an address', '[[listener]]\nname = "a"\nprotocol = "mqtt"', false],
  ])('%s', (_, text, expected) => {
    expect(problems(LISTENER + text).length === 0).toBe(expected);
  });
});
