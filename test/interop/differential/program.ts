// A program is a list of requests, as data. A text `$name` in a request stands for what an earlier answer held where
// its step said to keep it, and for the topic's id in `$id:TOPIC`.
import type { Answer, ApiName } from './broker-client.ts';
import { BrokerClient } from './broker-client.ts';

export interface Request {
  readonly api: ApiName;
  readonly version: number;
  readonly send: Readonly<Record<string, unknown>>;
  /** The connection; another one where the answer waits. */
  readonly on?: string;
  /** Parts of the answer, as `members.0.memberId`, under names for later requests. */
  readonly keep?: Readonly<Record<string, string>>;
  /** The answer is awaited by a later step that names it. */
  readonly later?: string;
  /** Sent again until the broker does not say that it is not ready. */
  readonly patient?: true;
  /** Brings both brokers to the same state; the answer is not compared. */
  readonly uncompared?: true;
  /** Sent again until this part of the answer is so: what was changed takes its time to be seen in Kafka. */
  readonly until?: readonly [path: string, value: unknown];
}

export type Step = Request | { readonly await: string };

export interface Program {
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface Played {
  /** Of each request in the order of the answers. */
  readonly label: string;
  readonly answer: Answer;
}

/** COORDINATOR_LOAD_IN_PROGRESS and its kin, and what is said of a topic that has just been made. */
const NOT_READY: ReadonlySet<unknown> = new Set([3, 5, 6, 14, 15, 16, 41, 100]);
const ATTEMPTS = 200;
const PAUSE_MS = 50;

export async function play(program: Program, port: number): Promise<Played[]> {
  const clients = new Map<string, BrokerClient>();
  const kept = new Map<string, unknown>();
  const pending = new Map<string, { label: string; step: Request; answer: Promise<Answer> }>();
  const played: Played[] = [];

  const take = (label: string, { keep = {}, uncompared }: Request, answer: Answer): void => {
    for (const [name, path] of Object.entries(keep)) kept.set(name, partOf(answer, path));
    if (uncompared !== true) played.push({ label, answer });
  };
  const ask = async (step: Request): Promise<Answer> => {
    const name = step.on ?? 'first';
    let client = clients.get(name);
    if (client === undefined || client.closed) {
      client = await BrokerClient.connect(port);
      clients.set(name, client);
    }
    // A record stays a record.
    return client.ask(step.api, step.version, filledIn(step.send, kept) as Request['send']);
  };

  try {
    for (const [index, step] of program.steps.entries()) {
      if ('await' in step) {
        const waited = pending.get(step.await);
        if (waited === undefined) throw new Error(`${program.name}: nothing is called ${step.await}`);
        pending.delete(step.await);
        take(waited.label, waited.step, await waited.answer);
        continue;
      }
      const label = `${program.name} #${index} ${step.api} v${step.version}`;
      const asked = askUntil(step, () => ask(step));
      if (step.later === undefined) take(label, step, await asked);
      else pending.set(step.later, { label, step, answer: asked });
    }
    if (pending.size > 0) throw new Error(`${program.name}: ${[...pending.keys()]} is never awaited`);
    return played;
  } finally {
    for (const client of clients.values()) client.close();
  }
}

async function askUntil({ patient, until }: Request, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask();
    const isReady = patient !== true || !saysNotReady(answer);
    const isSeen = until === undefined || partOf(answer, until[0]) === until[1];
    if (attempt === ATTEMPTS || (isReady && isSeen)) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function saysNotReady(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, part]) => (name === 'errorCode' && NOT_READY.has(part)) || saysNotReady(part),
  );
}

function partOf(answer: Answer, path: string): unknown {
  let part: unknown = answer;
  for (const name of path.split('.')) {
    if (typeof part !== 'object' || part === null) return undefined;
    // An object whose parts are looked up by name.
    part = (part as Readonly<Record<string, unknown>>)[name];
  }
  return part;
}

function filledIn(value: unknown, kept: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === 'string' && value.startsWith('$')) {
    const found = kept.get(value.slice(1));
    if (found === undefined) throw new Error(`no answer held ${value}`);
    return found;
  }
  if (Array.isArray(value)) return value.map((item) => filledIn(item, kept));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, filledIn(part, kept)]));
}
