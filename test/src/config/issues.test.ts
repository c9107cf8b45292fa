// Every mistake in a configuration, with the exact line that tells it.
import { describe, expect, it } from 'vitest';
import { type Around, complaints, LISTENER } from './fixtures.ts';

type Case = readonly [what: string, text: string, lines: readonly string[], around?: Around];

const DURATIONS = 'such as "250ms", "30s", "5m", "12h", "7d" or "2w"';
const SIZES = 'such as "512B", "64KiB", "64MiB", "1GiB" (powers of 1024) or "64MB" (powers of 1000)';

function listener(more: string, bind = '127.0.0.1:1', protocol = 'kafka', name = 'a'): string {
  return `[[listener]]\nname = "${name}"\nprotocol = "${protocol}"\nbind = "${bind}"\n${more}`;
}

function hold(cases: readonly Case[]): void {
  it.each(cases.map(([what, ...rest]) => ({ what, rest })))('$what', ({ rest: [text, lines, around] }) => {
    expect(complaints(text, around)).toEqual(lines);
  });
}

describe('the document', () => {
  hold([
    [
      'empty',
      '',
      ['polylog.toml: listener: is missing (at least one [[listener]] with name, protocol and bind)'],
    ],
    [
      'not TOML',
      '[server]\nnode_id = = 1\n',
      [expect.stringMatching(/^polylog\.toml:2: is not TOML: .+ \(column \d+\)$/) as unknown as string],
    ],
    [
      'a key twice',
      'a = 1\na = 2',
      ['polylog.toml:2: is not TOML: trying to redefine an already defined table or value (column 1)'],
    ],
    [
      'a value for a table',
      `${LISTENER}[log]\nlevel.x = 1`,
      ['polylog.toml:6: log.level: must be one of debug, info, warn, error, not a table'],
    ],
    [
      'a table for an array of tables',
      '[listener]\nname = "x"',
      ['polylog.toml:1: listener: must be an array of tables, not a table'],
    ],
    ['a value for a section', `kafka = 3\n${LISTENER}`, ['polylog.toml:1: kafka: must be a table, not 3']],
  ]);
});

describe('unknown keys', () => {
  hold([
    [
      'a slip',
      `${LISTENER}[mqtt]\nmax_paket_size = "1MiB"`,
      ['polylog.toml:6: mqtt.max_paket_size: unknown key (did you mean max_packet_size?)'],
    ],
    [
      'words in another order',
      `${LISTENER}[mqtt]\npacket_size_max = "1MiB"`,
      ['polylog.toml:6: mqtt.packet_size_max: unknown key (did you mean max_packet_size?)'],
    ],
    [
      'the right key in the wrong section',
      `${LISTENER}[server]\nflush_timeout = "3s"`,
      ['polylog.toml:6: server.flush_timeout: unknown key (did you mean storage.flush_timeout?)'],
    ],
    [
      'the beginning of one',
      `${LISTENER}[mqtt]\nkeepalive = "5m"`,
      ['polylog.toml:6: mqtt.keepalive: unknown key (did you mean keepalive_max?)'],
    ],
    [
      'nothing like it',
      `${LISTENER}[log]\ncolour = true`,
      ['polylog.toml:6: log.colour: unknown key (known here: level, format)'],
    ],
    ['a section', `${LISTENER}[mqt]\nx = 1\n`, ['polylog.toml:5: mqt: unknown key (did you mean mqtt?)']],
    [
      'inside a listener',
      listener('limit = { connections = 3 }'),
      ['polylog.toml:5: listener.a.limit: unknown key (did you mean limits?)'],
    ],
    [
      'inside an inline table over several lines',
      listener('limits = {\n  connection = 3 }'),
      ['polylog.toml:6: listener.a.limits.connection: unknown key (did you mean connections?)'],
    ],
    [
      "Kafka's topic configs",
      `${LISTENER}[topics]\nconfig = { "segment.byte" = 5 }`,
      ['polylog.toml:6: topics.config.segment.byte: unknown key (did you mean segment.bytes?)'],
    ],
    [
      'prototype names',
      `${LISTENER}[log]\nconstructor = 1\n__proto__ = 2`,
      [
        'polylog.toml:6: log.constructor: unknown key (known here: level, format)',
        'polylog.toml:7: log.__proto__: unknown key (known here: level, format)',
      ],
    ],
  ]);
});

describe('values', () => {
  hold([
    [
      'a duration without a unit',
      `${LISTENER}[kafka]\nfetch_max_wait = 30`,
      [`polylog.toml:6: kafka.fetch_max_wait: must be a duration, not 30 (${DURATIONS})`],
    ],
    [
      'no duration',
      `${LISTENER}[kafka]\nfetch_max_wait = "30 seconds"`,
      [`polylog.toml:6: kafka.fetch_max_wait: must be a duration ${DURATIONS}, not "30 seconds"`],
    ],
    [
      'a duration out of bounds',
      `${LISTENER}[kafka]\nfetch_max_wait = "90d"`,
      ['polylog.toml:6: kafka.fetch_max_wait: must be from 1ms to 1d, not "90d"'],
    ],
    [
      'no size',
      `${LISTENER}[kafka]\nrequest_size_max = "100"`,
      [`polylog.toml:6: kafka.request_size_max: must be a size ${SIZES}, not "100"`],
    ],
    [
      'a size out of bounds',
      `${LISTENER}[kafka]\nrequest_size_max = "3B"`,
      ['polylog.toml:6: kafka.request_size_max: must be from 1KiB to 1GiB, not "3B"'],
    ],
    [
      'a Kafka size',
      `${LISTENER}[topics]\nconfig = { "segment.bytes" = "x" }`,
      [`polylog.toml:6: topics.config.segment.bytes: must be bytes or a size ${SIZES}, not "x"`],
    ],
    [
      'a Kafka time',
      `${LISTENER}[topics]\nconfig = { "retention.ms" = "a week" }`,
      [
        `polylog.toml:6: topics.config.retention.ms: must be milliseconds or a duration ${DURATIONS}, not "a week"`,
      ],
    ],
    [
      'a Kafka time below what there is',
      `${LISTENER}[topics]\nconfig = { "retention.ms" = -2 }`,
      [
        'polylog.toml:6: topics.config.retention.ms: must be from -1 to 9007199254740991 milliseconds, not -2',
      ],
    ],
    [
      'a dial below every record',
      `${LISTENER}[storage]\nflush_messages = 0`,
      ['polylog.toml:6: storage.flush_messages: must be at least 1, not 0'],
    ],
    [
      'a Kafka size out of bounds',
      `${LISTENER}[topics]\nconfig = { "max.message.bytes" = -1 }`,
      ['polylog.toml:6: topics.config.max.message.bytes: must be from 1 to 2147483647 bytes, not -1'],
    ],
    [
      'a number too small',
      `${LISTENER}[topics]\npartitions = 0`,
      ['polylog.toml:6: topics.partitions: must be at least 1, not 0'],
    ],
    [
      'a number too large',
      `${LISTENER}[mqtt]\nreceive_maximum = 65_536`,
      ['polylog.toml:6: mqtt.receive_maximum: must be at most 65535, not 65536'],
    ],
    [
      'a fraction',
      `${LISTENER}[topics]\npartitions = 1.5`,
      ['polylog.toml:6: topics.partitions: must be a whole number, not 1.5'],
    ],
    [
      'no boolean',
      `${LISTENER}[topics]\nauto_create = "yes"`,
      ['polylog.toml:6: topics.auto_create: must be true or false, not "yes"'],
    ],
    ['no text', `${LISTENER}[server]\nrack = 5`, ['polylog.toml:6: server.rack: must be text, not 5']],
    [
      'empty text',
      `${LISTENER}[server]\ndata_dir = ""`,
      ['polylog.toml:6: server.data_dir: must not be empty'],
    ],
    [
      'a date',
      `${LISTENER}[server]\nnode_id = 1979-05-27`,
      ['polylog.toml:6: server.node_id: must be a whole number, not a date'],
    ],
    [
      'no choice',
      `${LISTENER}[log]\nlevel = "inf"\nformat = "xml"`,
      [
        'polylog.toml:6: log.level: must be one of debug, info, warn, error, not "inf" (did you mean info?)',
        'polylog.toml:7: log.format: must be one of text, json, not "xml"',
      ],
    ],
    [
      'an illegal topic name',
      `${LISTENER}[[topic]]\nname = "a/b"`,
      [
        'polylog.toml:6: topic.a/b.name: must be 1 to 249 of A-Z a-z 0-9 . _ - and neither "." nor "..", not "a/b"',
      ],
    ],
    [
      'control characters stay on one line',
      `${LISTENER}[log]\nlevel = "a\\nb\\u001b[31m"`,
      ['polylog.toml:6: log.level: must be one of debug, info, warn, error, not "a\\nb\\u001b[31m"'],
    ],
  ]);
});

describe('listeners', () => {
  hold([
    [
      'nothing but mistakes: each is told',
      '[[listener]]\nnam = "x"\nprotocol = "amqp"\nbind = "9092"',
      [
        'polylog.toml:1: listener[0].name: is missing',
        'polylog.toml:2: listener[0].nam: unknown key (did you mean name?)',
        'polylog.toml:3: listener[0].protocol: must be one of kafka, mqtt, mqtt-ws, http, not "amqp"',
        'polylog.toml:4: listener[0].bind: must be "host:port", not "9092" (such as "127.0.0.1:9092", "0.0.0.0:9092" or "[::1]:9092"; port 0 takes any free one)',
      ],
    ],
    [
      'reachable from elsewhere',
      listener('', '0.0.0.0:9092'),
      [
        'polylog.toml:4: listener.a.bind: 0.0.0.0:9092 can be reached from other machines, and there is no authentication yet (bind 127.0.0.1, or let everyone in with anonymous = true)',
      ],
    ],
    [
      'reachable from elsewhere, IPv6',
      listener('', '[::]:9092', 'mqtt'),
      [
        'polylog.toml:4: listener.a.bind: [::]:9092 can be reached from other machines, and there is no authentication yet (bind 127.0.0.1, or let everyone in with anonymous = true)',
      ],
    ],
    [
      'authentication asked for',
      listener('anonymous = false'),
      [
        'polylog.toml:5: listener.a.anonymous: false would let nobody in (there is no authentication yet; leave it out and bind a loopback address to keep others away)',
      ],
    ],
    [
      'a wildcard advertised',
      listener('anonymous = true\nadvertised = "0.0.0.0:9092"'),
      [
        'polylog.toml:6: listener.a.advertised: no client can connect to 0.0.0.0:9092 (write the name or address that clients use, or leave it out to tell each the one it reached)',
      ],
    ],
    [
      'port 0 advertised',
      listener('advertised = "x:0"'),
      [
        'polylog.toml:5: listener.a.advertised: must have a port other than 0 (leave it out to tell each client the one it reached)',
      ],
    ],
    [
      'no address advertised',
      listener('advertised = "http://x:1"'),
      [
        'polylog.toml:5: listener.a.advertised: must be "host:port", not "http://x:1" (as clients reach it, such as "broker.example:9092")',
      ],
    ],
    [
      'advertised to MQTT',
      listener('advertised = "x:1"', '127.0.0.1:1', 'mqtt'),
      [
        'polylog.toml:5: listener.a.advertised: means nothing to mqtt (Kafka clients alone are told an address)',
      ],
    ],
    [
      'names of Hosts',
      listener('hosts = ["hub.example", "::1"]\n') +
        listener('hosts = ["10.0.0.7", "hub.example:80"]', '127.0.0.1:2', 'http', 'b'),
      [
        'polylog.toml:5: listener.a.hosts: means nothing to kafka (requests of HTTP alone have a Host)',
        'polylog.toml:10: listener.b.hosts: "hub.example:80" is no name of a host (such as "hub.example", without a port)',
      ],
    ],
    [
      'the same name',
      listener('') + listener('', '127.0.0.1:2'),
      ['polylog.toml:6: listener.a.name: another [[listener]] is named "a" too'],
    ],
    [
      'the same port',
      listener('') + listener('anonymous = true', '0.0.0.0:1', 'mqtt', 'b'),
      [
        'polylog.toml:8: listener.b.bind: 0.0.0.0:1 is taken by listener a (127.0.0.1:1) (each listener needs a port of its own)',
      ],
    ],
    [
      'one mistake does not hide another',
      `${listener('', '0.0.0.0:1')}[[listener]]\nname = "b"\nbind = "x"`,
      [
        'polylog.toml:4: listener.a.bind: 0.0.0.0:1 can be reached from other machines, and there is no authentication yet (bind 127.0.0.1, or let everyone in with anonymous = true)',
        'polylog.toml:5: listener.b.protocol: is missing (one of kafka, mqtt, mqtt-ws, http)',
        'polylog.toml:7: listener.b.bind: must be "host:port", not "x" (such as "127.0.0.1:9092", "0.0.0.0:9092" or "[::1]:9092"; port 0 takes any free one)',
      ],
    ],
  ]);
});

describe('topics and groups', () => {
  hold([
    [
      'more partitions than allowed',
      `${LISTENER}[topics]\npartitions = 20\npartitions_max = 10`,
      ['polylog.toml:6: topics.partitions: must be at most partitions_max, which is 10'],
    ],
    [
      'the same topic',
      `${LISTENER}[[topic]]\nname = "x"\npartitions = 10001\n[[topic]]\nname = "x"`,
      [
        'polylog.toml:7: topic.x.partitions: must be at most topics.partitions_max, which is 10000',
        'polylog.toml:9: topic.x.name: another [[topic]] is named "x" too',
      ],
    ],
    [
      'names that cannot be',
      `${LISTENER}[[topic]]\nname = "__mqtt_x"\n[[topic]]\nname = "a.b"\n[[topic]]\nname = "a_b"`,
      [
        'polylog.toml:6: topic.__mqtt_x.name: "__mqtt_x" is the hub\'s own (choose another name)',
        'polylog.toml:10: topic.a_b.name: "a_b" collides with "a.b" (to Kafka "." and "_" are the same here)',
      ],
    ],
    [
      'session timeouts the wrong way round',
      `${LISTENER}[kafka]\ngroup_min_session_timeout = "2h"`,
      ['polylog.toml:6: kafka.group_min_session_timeout: must not be longer than group_max_session_timeout'],
    ],
    [
      'heartbeats that come too late',
      `${LISTENER}[kafka]\ngroup_consumer_heartbeat_interval = "45s"`,
      [
        'polylog.toml:6: kafka.group_consumer_heartbeat_interval: must be shorter than group_consumer_session_timeout',
      ],
    ],
  ]);
});

describe('the environment', () => {
  hold([
    [
      'a variable that is missing',
      `${LISTENER}[server]\ndata_dir = "\${NOPE}/x"`,
      [
        `polylog.toml:6: server.data_dir: environment variable NOPE is not set (set it or write "\${NOPE:default}")`,
      ],
    ],
    [
      'a variable half written',
      `${LISTENER}[server]\nrack = "\${oops"`,
      [
        `polylog.toml:6: server.rack: "\${" opens no variable (write "\${NAME}", "\${NAME:default}", or "$\${" for the characters)`,
      ],
    ],
    [
      'a variable that is no number',
      `${LISTENER}[server]\nnode_id = "\${ID}"`,
      ['polylog.toml:6: server.node_id: must be a whole number, not "x7"'],
      { environment: { ID: 'x7' } },
    ],
    [
      'an unknown override',
      LISTENER,
      [
        'POLYLOG__LISTENER__kafka__BND: unknown key (did you mean POLYLOG__LISTENER__kafka__BIND?)',
        'POLYLOG__MQT__KEEPALIVE_MAX: unknown key (did you mean POLYLOG__MQTT__KEEPALIVE_MAX?)',
      ],
      { environment: { POLYLOG__MQT__KEEPALIVE_MAX: '5s', POLYLOG__LISTENER__kafka__BND: 'x' } },
    ],
    [
      'an element that is not there',
      LISTENER,
      [
        'POLYLOG__LISTENER__mqtt__BIND: no [[listener]] is named "mqtt" (named are kafka)',
        'POLYLOG__TOPIC__a__PARTITIONS: no [[topic]] is named "a" (the file has none)',
      ],
      { environment: { POLYLOG__LISTENER__mqtt__BIND: 'x', POLYLOG__TOPIC__a__PARTITIONS: '3' } },
    ],
    [
      'a table',
      LISTENER,
      ['POLYLOG__LOG: is a table, not a value (set one in it: level, format)'],
      { environment: { POLYLOG__LOG: 'debug' } },
    ],
    [
      'a wrong value',
      LISTENER,
      ['POLYLOG__TOPICS__PARTITIONS: topics.partitions: must be a whole number, not "many"'],
      { environment: { POLYLOG__TOPICS__PARTITIONS: 'many' } },
    ],
  ]);
});

describe('flags', () => {
  hold([
    [
      'an unknown key',
      LISTENER,
      ['--set kafka.fetch_max_wai: unknown key (did you mean kafka.fetch_max_wait?)'],
      {
        settings: ['kafka.fetch_max_wai=3s'],
      },
    ],
    [
      'nothing like it',
      LISTENER,
      ['--set log.colour: unknown key (known here: level, format)'],
      { settings: ['log.colour=x'] },
    ],
    [
      'no value',
      LISTENER,
      ['--set log.level: has no value (write --set section.key=value)'],
      {
        settings: ['log.level'],
      },
    ],
    [
      'a wrong value',
      LISTENER,
      ['--set listener.kafka.limits.connections: must be at least 1, not 0'],
      {
        settings: ['listener.kafka.limits.connections=0'],
      },
    ],
  ]);
});

describe('mappings', () => {
  const rule = (more: string) => `[[mapping]]\n${more}\n`;
  const first = rule('match = "device/{id}/state"\ntopic = "states"\nkey = "{id}"');
  hold([
    ['sound', `${LISTENER}${first}${rule('preset = "dotted"')}`, []],
    [
      'no match',
      `${LISTENER}${rule('topic = "a"')}`,
      [
        'polylog.toml:5: mapping[0].match: is missing (a topic filter such as "plant/{site}/#"; only a preset goes without)',
      ],
    ],
    [
      'an unknown capture',
      `${LISTENER}${rule('match = "a/{b}"\nkey = "{c}"')}`,
      [
        'polylog.toml:7: mapping[0].key: {c} is no capture of match (known here: {b}, {mqttTopic}, {clientId})',
      ],
    ],
    [
      'an illegal name',
      `${LISTENER}${rule('match = "a/{b}"\ntopic = "a/{b}"')}`,
      ['polylog.toml:7: mapping[0].topic: "a/{b}" makes no legal topic name (A-Z a-z 0-9 . _ -)'],
    ],
    [
      'a rule that never counts',
      `${LISTENER}${rule('match = "#"')}${first}`,
      [
        'polylog.toml:8: mapping[1].match: "device/{id}/state" never counts: [[mapping]] 1 ("#") matches all of it and comes first (the first rule that matches wins; put the narrower one before it)',
      ],
    ],
    [
      'two topics under one key',
      `${LISTENER}${first}${rule('match = "sensor/{id}/state"\ntopic = "states"\nkey = "{id}"')}`,
      [
        'polylog.toml:11: mapping[1].topic: a record of Kafka could be of this rule or of [[mapping]] 1 ("device/{id}/state"): topic and key may be the same (let topic or key tell them apart, or say direction = "in" for one of them)',
      ],
    ],
    [
      'a QoS that is none',
      `${LISTENER}${rule('match = "a"\nqos = 3')}`,
      ['polylog.toml:7: mapping[0].qos: must be 0, 1 or 2, not 3'],
    ],
  ]);
});
