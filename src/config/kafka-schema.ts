// `[kafka]`: its keys.
import * as z from 'zod';
import { DAY_MS, duration, GIB, MIB, size } from './value-kinds.ts';

export const kafkaSchema = z
  .strictObject({
    request_size_max: size(1024, GIB).prefault('100MiB').meta({
      description: 'Largest request; a larger one closes the connection before it is read.',
    }),
    connections_per_address_max: z.int().min(0).max(1_000_000).prefault(0).meta({
      description: 'Connections at once from one address; one more is closed. 0: any number.',
    }),
    fetch_max_wait: duration(1, DAY_MS).prefault('5m').meta({
      description: 'Longest that a fetch waits for records, whatever the client asks for.',
    }),
    fetch_size_max: size(1024, GIB).prefault('16MiB').meta({
      description:
        'Records in one answer to a fetch, whatever the client asks for; the first batch may be larger.',
    }),
    fetch_sessions_max: z.int().min(0).max(1_000_000).prefault(1_000).meta({
      description:
        'Clients of which is remembered what they fetch, so that they need not say it each time; those of one address have half of the places.',
    }),
    idle_timeout: duration(0, 365 * DAY_MS)
      .prefault('10m')
      .meta({
        description:
          'A connection that says nothing and waits for nothing is closed after this. "0s": never.',
      }),
    groups_max: z.int().min(1).max(1_000_000).prefault(10_000).meta({
      description: 'Consumer groups; clients of one address may make half of them.',
    }),
    group_members_max: z.int().min(1).max(100_000).prefault(1_000).meta({
      description: 'Members of one group.',
    }),
    group_min_session_timeout: duration(1, DAY_MS).prefault('6s').meta({
      description: 'Shortest session timeout that a group member may ask for.',
    }),
    group_max_session_timeout: duration(1, DAY_MS).prefault('30m').meta({
      description: 'Longest session timeout that a group member may ask for.',
    }),
    group_initial_rebalance_delay: duration(0, DAY_MS).prefault('3s').meta({
      description: 'How long the first member of an empty group waits for others to join.',
    }),
    group_consumer_session_timeout: duration(1, DAY_MS).prefault('45s').meta({
      description:
        'A member of the consumer protocol (group.protocol=consumer) that is not heard of for so long is out.',
    }),
    group_consumer_heartbeat_interval: duration(1, DAY_MS).prefault('5s').meta({
      description: 'How often members of the consumer protocol are told to send a heartbeat.',
    }),
    offset_metadata_size_max: size(0, MIB).prefault('4KiB').meta({
      description: 'Longest text that a client may keep with an offset.',
    }),
    offsets_retention: duration(60_000, 3650 * DAY_MS)
      .prefault('7d')
      .meta({
        description: 'Committed offsets of a group without members are kept this long.',
      }),
    transaction_max_timeout: duration(1, 24 * DAY_MS)
      .prefault('15m')
      .meta({
        description: 'Longest that a producer may ask its transactions to last.',
      }),
    transactional_ids_max: z.int().min(1).max(10_000_000).prefault(100_000).meta({
      description: 'Transactional ids; clients of one address may make half of them.',
    }),
    transactional_id_expiration: duration(60_000, 3650 * DAY_MS)
      .prefault('7d')
      .meta({
        description: 'A transactional id that has done nothing for so long is forgotten.',
      }),
    transaction_abort_check_interval: duration(10, DAY_MS).prefault('10s').meta({
      description: 'How often transactions are looked for that have lasted too long.',
    }),
  })
  .prefault({});
