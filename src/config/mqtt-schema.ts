// `[mqtt]`: its keys.
import * as z from 'zod';
import { DAY_MS, duration, MIB, size } from './value-kinds.ts';

export const mqttSchema = z
  .strictObject({
    max_packet_size: size(1024, 256 * MIB)
      .prefault('1MiB')
      .meta({
        description: 'Largest packet; a larger one closes the connection before it is read.',
      }),
    connect_timeout: duration(100, DAY_MS).prefault('10s').meta({
      description: 'A connection that has not sent its CONNECT after this is closed.',
    }),
    keepalive_max: duration(0, 65_535_000).prefault('0s').meta({
      description:
        'Longest keepalive that a client may ask for; an MQTT 5 client is told. "0s" leaves it to the client.',
    }),
    receive_maximum: z.int().min(1).max(65_535).prefault(1_024).meta({
      description: 'Publishes of QoS 1 and 2 that a client may have unacknowledged towards the hub.',
    }),
    inflight_max: z.int().min(1).max(65_535).prefault(1_024).meta({
      description:
        'Publishes of QoS 1 and 2 that the hub has unacknowledged towards a client, if that allows as many.',
    }),
    topic_alias_maximum: z.int().min(0).max(65_535).prefault(32).meta({
      description: 'Topic aliases that an MQTT 5 client may give.',
    }),
    session_expiry_max: duration(0, 3650 * DAY_MS)
      .prefault('0s')
      .meta({
        description:
          'Longest that a session outlives its connection, whatever its client asks for. "0s": as long as it asks.',
      }),
    sessions_max: z.int().min(0).max(100_000_000).prefault(0).meta({
      description:
        'Sessions that outlive their connections; a client that asks for one more is refused (0x97). 0: any number.',
    }),
    queue_count_max: z.int().min(0).max(1_000_000).prefault(0).meta({
      description:
        'Messages that wait for a client that has been away; the oldest are skipped, and it is told. 0: any number.',
    }),
    queue_age_max: duration(0, 3650 * DAY_MS)
      .prefault('0s')
      .meta({
        description: 'Messages older than this are skipped when a client comes back. "0s": none.',
      }),
    subscriptions_max: z.int().min(1).max(1_000_000).prefault(10_000).meta({
      description: 'Subscriptions of one client.',
    }),
    shared_groups_max: z.int().min(1).max(1_000_000).prefault(1000).meta({
      description: 'Shared subscriptions, of whatever clients.',
    }),
    retained_count_max: z.int().min(0).max(100_000_000).prefault(1_000_000).meta({
      description: 'Retained messages, of all topics.',
    }),
    retained_size_max: size(0, 256 * MIB)
      .prefault('1MiB')
      .meta({
        description: 'Payload and properties of a retained message.',
      }),
    topic_levels_max: z.int().min(1).max(65_535).prefault(128).meta({
      description: 'Levels of a topic name or filter.',
    }),
    topic_length_max: z.int().min(1).max(65_535).prefault(65_535).meta({
      description: 'Bytes of a topic name or filter.',
    }),
    wildcards_max: z.int().min(1).max(65_535).prefault(128).meta({
      description: 'Wildcards, + and #, in one filter.',
    }),
    user_properties_max: z.int().min(0).max(65_535).prefault(256).meta({
      description: 'User properties of one publish or will.',
    }),
    user_properties_size_max: size(0, 256 * MIB)
      .prefault('64KiB')
      .meta({
        description: 'Names and values of the user properties of one publish or will, together.',
      }),
    max_connect_size: size(64, 64 * 1024)
      .prefault('64KiB')
      .meta({
        description: 'Largest CONNECT; before it nothing else is read.',
      }),
    connections_per_address_max: z.int().min(0).max(1_000_000).prefault(0).meta({
      description: 'Connections at once from one address; one more is told so (0x97). 0: any number.',
    }),
    publish_rate_max: z.int().min(0).max(1_000_000).prefault(0).meta({
      description:
        'Publishes of one client a second; one that sends more is read more slowly. 0: any number.',
    }),
    sys_interval: duration(0, DAY_MS).prefault('10s').meta({
      description: 'Between two updates of the topics under $SYS/broker/. "0s": there are none.',
    }),
  })
  .prefault({});
