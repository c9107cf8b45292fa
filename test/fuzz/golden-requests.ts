// Requests of every version as Kafka's own encoder writes them, every field set, without their headers.

import { readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../protocols/kafka/wire/message.ts';
import type { Fields } from '../../protocols/kafka/wire/schema.ts';
import { ALL_MESSAGES } from '../protocols/kafka/messages/all-messages.ts';

interface Vector {
  readonly message: string;
  readonly version: number;
  readonly fill: string;
  readonly hex: string;
}

const GOLDEN = new URL('../golden/kafka/', import.meta.url);

export interface GoldenRequest {
  readonly message: Message<Fields>;
  readonly version: number;
  readonly bytes: Buffer;
}

export const goldenRequests = (): readonly GoldenRequest[] =>
  readdirSync(GOLDEN)
    .filter((name) => /^\d\d-.*\.jsonl$/.test(name))
    .flatMap((name) => readFileSync(new URL(name, GOLDEN), 'utf8').trim().split('\n'))
    .map((line): Vector => JSON.parse(line))
    .filter(({ message, fill }) => message.endsWith('Request') && fill === 'full')
    .map(({ message, version, hex }) => ({
      // Every schema is treated alike; their precise types matter to handlers, not here.
      message: (ALL_MESSAGES as Record<string, unknown>)[message] as Message<Fields>,
      version,
      bytes: Buffer.from(hex, 'hex'),
    }));
