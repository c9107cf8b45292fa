// The one schema of the configuration: every key, its type, its bounds, its default and what it does. The file,
// the environment and the flags are checked against it, and the table of config/README.md is made from it.
// A key that has no effect yet is not here: an unknown key stops the start.
import * as z from 'zod';
import { kafkaSchema } from './kafka-schema.ts';
import { mappingSchema } from './mappings.ts';
import { mqttSchema } from './mqtt-schema.ts';
import { DURATION_FORM, parseDuration, parseSize, SIZE_FORM } from './units.ts';
import { address, DAY_MS, duration, GIB, MIB, size } from './value-kinds.ts';

const INT32_MAX = 2 ** 31 - 1;

interface KafkaUnit {
  readonly form: string;
  readonly named: string;
  readonly example: string;
  readonly parse: (text: string) => number | undefined;
}

const BYTES: KafkaUnit = {
  form: 'bytes or size',
  named: 'bytes',
  example: `a size such as ${SIZE_FORM}`,
  parse: parseSize,
};
const MILLISECONDS: KafkaUnit = {
  form: 'ms or duration',
  named: 'milliseconds',
  example: `a duration such as ${DURATION_FORM}`,
  parse: parseDuration,
};

/** A Kafka topic config that is a number of something: bare as in Kafka's own files, or with a unit. */
const kafkaNumber = (unit: KafkaUnit, min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z
    .union([z.number(), z.string()])
    .transform((written, context) => {
      const value =
        typeof written === 'number' ? written : (unit.parse(written) ?? Number(written || Number.NaN));
      if (Number.isInteger(value) && value >= min && value <= max) return value;
      const message = Number.isNaN(value)
        ? `must be ${unit.named} or ${unit.example}, not "${written}"`
        : `must be from ${min} to ${max} ${unit.named}, not ${JSON.stringify(written)}`;
      context.issues.push({ code: 'custom', message, input: written });
      return z.NEVER;
    })
    .meta({ form: unit.form });

/** Kafka's names of what the hub honours; src/hub/topic-configs.ts says what each means. */
export const topicConfigSchema = z.strictObject({
  'retention.ms': kafkaNumber(MILLISECONDS, -1).optional().meta({
    description: 'Closed segments whose records are all older are deleted. -1: none is, for its age.',
  }),
  'retention.bytes': kafkaNumber(BYTES, -1).optional().meta({
    description:
      'The oldest closed segments of a partition larger than this are deleted. -1: none is, for its size.',
  }),
  'segment.bytes': kafkaNumber(BYTES, 1024, INT32_MAX).optional().meta({
    description: 'Size at which a segment file is closed and the next one begun.',
  }),
  'segment.ms': kafkaNumber(MILLISECONDS, 1).optional().meta({
    description: 'Age at which a segment file is closed, however small it is.',
  }),
  'segment.index.bytes': kafkaNumber(BYTES, 4, INT32_MAX).optional().meta({
    description: 'Size of its index at which a segment file is closed.',
  }),
  'cleanup.policy': z.enum(['delete', 'compact', 'compact,delete']).optional().meta({
    description:
      'What happens to old records: deleted by age and size, or but the latest of each key, or both.',
  }),
  'min.cleanable.dirty.ratio': z.number().min(0).max(1).optional().meta({
    description: 'Share of bytes not compacted yet, 0 to 1, from which on a partition is compacted.',
    form: 'number',
  }),
  'min.compaction.lag.ms': kafkaNumber(MILLISECONDS, 0).optional().meta({
    description: 'Records stay at least this long before compaction takes them.',
  }),
  'max.compaction.lag.ms': kafkaNumber(MILLISECONDS, 1).optional().meta({
    description: 'Records wait at most this long for compaction, whatever the ratio.',
  }),
  'delete.retention.ms': kafkaNumber(MILLISECONDS, 0).optional().meta({
    description: 'How long compaction keeps tombstones, for readers who are behind.',
  }),
  'flush.messages': z.int().min(1).optional().meta({
    description: 'Records between flushes to disk. Unset: `storage.flush_messages`.',
  }),
  'flush.ms': kafkaNumber(MILLISECONDS, 0).optional().meta({
    description: 'Longest time that records wait for their flush. Unset: `storage.flush_interval`.',
  }),
  'max.message.bytes': kafkaNumber(BYTES, 1, INT32_MAX).optional().meta({
    description: 'Largest batch that the topic takes, and largest publish of an MQTT client.',
  }),
  'message.timestamp.type': z.enum(['CreateTime', 'LogAppendTime']).optional().meta({
    description: 'Whose clock stamps the records of Kafka clients: the producer or the hub.',
  }),
  'message.timestamp.before.max.ms': kafkaNumber(MILLISECONDS, 0).optional().meta({
    description: "Records whose producer's clock is further behind are refused. Unset: none is.",
  }),
  'message.timestamp.after.max.ms': kafkaNumber(MILLISECONDS, 0).optional().meta({
    description: "Records whose producer's clock is further ahead are refused.",
  }),
  'min.insync.replicas': z.int().min(1).max(INT32_MAX).optional().meta({
    description:
      'Copies that Kafka producers with acks=all ask for at least. There is one: above 1 they are refused.',
  }),
});

export const listenerSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?$/,
      'must be 1 to 64 letters, digits and inner hyphens',
    )
    .meta({ description: 'Unique; names the listener in logs, in overrides and to the admin API.' }),
  protocol: z.enum(['kafka', 'mqtt', 'mqtt-ws', 'http']).meta({
    restart: true,
    description: 'What is spoken. `mqtt-ws` is MQTT over WebSocket, at path /mqtt; `http` is the admin API.',
  }),
  bind: address(
    '"host:port"',
    'such as "127.0.0.1:9092", "0.0.0.0:9092" or "[::1]:9092"; port 0 takes any free one',
  ).meta({
    restart: true,
    description: 'Address to listen on. Port 0 takes any free port, which is printed.',
  }),
  advertised: address('"host:port"', 'as clients reach it, such as "broker.example:9092"').optional().meta({
    description:
      'Kafka: the address that clients are told to connect to. Unset, it is the one that the client reached. A wildcard such as 0.0.0.0 is refused.',
  }),
  anonymous: z.boolean().optional().meta({
    description:
      'Clients need not say who they are. Must be set to true where `bind` is not a loopback address, because there is no authentication yet.',
  }),
  proxy_trusted: z.array(z.string()).max(1000).optional().meta({
    description:
      'MQTT: addresses and networks of proxies that say with a PROXY header (version 1 or 2) where a client is. Others are closed.',
    form: 'list of addresses',
  }),
  origins: z.array(z.string()).max(1000).optional().meta({
    description:
      'MQTT over WebSocket: origins of web pages that may connect, such as "https://example.com"; "*" for any. Unset: no page may.',
    form: 'list of origins',
  }),
  hosts: z.array(z.string()).max(1000).optional().meta({
    description:
      'HTTP: more names by which requests may ask for it, in their header Host, such as "hub.example"; its own address and the loopback names are always among them. Unset: no other on a loopback address, any elsewhere.',
    form: 'list of names',
  }),
  limits: z
    .strictObject({
      connections: z.int().min(1).max(1_000_000).prefault(10_000).meta({
        description: 'Connections at once; one more is closed as soon as it is made.',
      }),
      connect_rate: z.int().min(0).max(1_000_000).optional().meta({
        description:
          'MQTT: connections a second; those above wait for their turn, and are told to come back later (0x9F) where that takes more than 5 s. 0: any number. Unset: 1000.',
      }),
    })
    .prefault({}),
});

export const topicSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/,
      'must be 1 to 249 of A-Z a-z 0-9 . _ - and neither "." nor ".."',
    )
    .meta({
      description:
        'Created if it is missing, at the start and when the file is read again; never deleted. What is said of it here is changed here alone.',
    }),
  partitions: z.int().min(1).max(100_000).optional().meta({
    description:
      'Partitions it has at least; more are added. Unset: `topics.partitions`, when it is created.',
  }),
  config: topicConfigSchema.prefault({}),
});

export const configSchema = z.strictObject({
  server: z
    .strictObject({
      data_dir: z.string().min(1).prefault('data').meta({
        restart: true,
        description: 'Where everything is kept. Relative to the working directory of the process.',
        form: 'path',
      }),
      node_id: z.int().min(0).max(INT32_MAX).prefault(1).meta({
        restart: true,
        description: "This node's id, as Kafka clients see it.",
      }),
      rack: z.string().min(1).max(255).optional().meta({
        restart: true,
        description: 'Rack or zone of this node, as Kafka clients see it.',
      }),
    })
    .prefault({}),

  listener: z.array(listenerSchema).max(64).prefault([]),

  storage: z
    .strictObject({
      flush_messages: z.int().min(1).prefault(1).meta({
        description:
          'Records of a partition between flushes to disk. 1: an acknowledged batch is on disk. Above: a power cut may take what was acknowledged since the last flush.',
      }),
      flush_interval: duration(0, 365 * DAY_MS)
        .prefault('1s')
        .meta({
          description: 'Longest time that `flush_messages` leaves records unflushed.',
        }),
      flush_timeout: duration(100, DAY_MS).prefault('30s').meta({
        restart: true,
        description:
          'A flush to disk that takes longer makes its partition refuse appends until it is reopened.',
      }),
      checkpoint_size: size(64 * 1024, 64 * GIB)
        .prefault('64MiB')
        .meta({
          restart: true,
          description:
            'After this much was appended to a partition, what a start after a crash must read again is cut short.',
        }),
      index_interval_size: size(512, GIB).prefault('4KiB').meta({
        restart: true,
        description: 'One index entry for each so many bytes of log.',
      }),
      disk_reserve_size: size(0, 64 * 1024 * GIB)
        .prefault('256MiB')
        .meta({
          restart: true,
          description:
            'When less is free on the disk, appends are refused; reading, retention and deleting go on. "0B": none.',
        }),
      check_interval: duration(100, 365 * DAY_MS)
        .prefault('5m')
        .meta({
          restart: true,
          description: 'From one round of retention and compaction to the next.',
        }),
      tail_cache_size: size(MIB, 64 * GIB)
        .prefault('64MiB')
        .meta({
          restart: true,
          description:
            'Memory for the newest records of all partitions, so that live readers touch no file. What is read ahead (16 MiB at most) or encoded for several readers (36 MiB) takes their place, down to a quarter of it.',
        }),
    })
    .prefault({}),

  topics: z
    .strictObject({
      partitions: z.int().min(1).max(100_000).prefault(1).meta({
        description: 'Partitions of a topic that is created without a number, or by first use.',
      }),
      partitions_max: z.int().min(1).max(100_000).prefault(10_000).meta({
        description: 'Most partitions that one topic may be created with.',
      }),
      auto_create: z.boolean().prefault(true).meta({
        description: 'A topic is created when it is first used.',
      }),
      auto_create_limit: z.int().min(0).max(1_000_000).prefault(10_000).meta({
        description: 'First use creates no further topic when there are this many.',
      }),
      state_partitions: z.int().min(1).max(1_000).prefault(16).meta({
        restart: true,
        description: 'Partitions of each internal topic; counts only when the data directory is new.',
      }),
      config: topicConfigSchema.prefault({}),
    })
    .prefault({}),

  topic: z.array(topicSchema).max(10_000).prefault([]),

  mapping: z.array(mappingSchema).max(1000).prefault([]),

  kafka: kafkaSchema,

  mqtt: mqttSchema,

  metrics: z
    .strictObject({
      detailed_topics: z.array(z.string().min(1).max(249)).max(1000).prefault([]).meta({
        description: 'Topics whose partitions `/metrics/detailed` tells of when it is asked for none.',
        form: 'list of topics',
      }),
    })
    .prefault({}),

  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error']).prefault('info').meta({
        description: 'Least serious level that is written.',
      }),
      format: z.enum(['text', 'json']).prefault('text').meta({
        restart: true,
        description: '`text` for people, `json` for collectors: one object a line.',
      }),
    })
    .prefault({}),
});

/** Checked, with the defaults filled in; keys as in the file, units converted. */
export type CheckedConfig = z.output<typeof configSchema>;
export type CheckedListener = z.output<typeof listenerSchema>;
export type CheckedTopic = z.output<typeof topicSchema>;
