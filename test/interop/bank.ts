// A bank: eight workers turn requests in three partitions into legs of a ledger, each in a transaction with the offset of
// its request, while workers and the hub are killed. No transfer is ever half done, or done twice, for a reader of
// committed records or for an MQTT subscriber: the sum of all accounts stays as it was.
import { equal, ok } from 'node:assert/strict';
import { connectAsync } from 'mqtt';
import { Child } from '../helpers/child.ts';
import { RawKafka } from '../helpers/raw-kafka.ts';
import { freshTopic, type InteropCase } from './case.ts';
import { readValues } from './committed-view.ts';
import { goProgram } from './go-clients.ts';
import { kafkaTool } from './kafka-tools.ts';
import { type OwnHub, withOwnHub } from './own-hub.ts';

const TOPICS = 'org.apache.kafka.tools.TopicCommand';

/** Three minutes unless POLYLOG_BANK_SECONDS says otherwise. */
const SECONDS = Number(process.env['POLYLOG_BANK_SECONDS'] ?? 180);
const WORKERS = 8;
const PARTITIONS = 3;
const ACCOUNTS = 100;
const OPENING_BALANCE = 1_000;

/** What somebody sees of the ledger, as it comes. */
class Ledger {
  readonly #balances = Array.from({ length: ACCOUNTS }, () => OPENING_BALANCE);
  /** The legs of each transfer: side and attempt of the first, until the second is there. */
  readonly #open = new Map<string, { side: string; account: number; amount: number; attempt: string }>();
  readonly #done = new Map<string, string>();
  readonly faults: string[] = [];
  again = 0;

  get transfers(): number {
    return this.#done.size;
  }

  get halves(): number {
    return this.#open.size;
  }

  /** Of all accounts, in transfers that are seen whole. */
  get sum(): number {
    return this.#balances.reduce((sum, balance) => sum + balance, 0);
  }

  /** @param repeats whether the same leg may come again, as at least once allows */
  see(leg: string, repeats: boolean): void {
    const [transfer = '', side = '', account, amount, attempt = ''] = leg.split(' ');
    const done = this.#done.get(transfer);
    const other = this.#open.get(transfer);
    if (done !== undefined || other?.side === side) {
      if (repeats && (done ?? other?.attempt) === attempt) this.again += 1;
      else this.faults.push(`transfer ${transfer} again: ${leg}, after ${done ?? other?.attempt}`);
      return;
    }
    const seen = { side, account: Number(account), amount: Number(amount), attempt };
    if (other === undefined) {
      this.#open.set(transfer, seen);
      return;
    }
    this.#open.delete(transfer);
    this.#done.set(transfer, attempt);
    for (const each of [other, seen])
      this.#balances[each.account] = (this.#balances[each.account] ?? 0) + each.amount;
    if (other.attempt !== attempt) this.faults.push(`transfer ${transfer}: halves of two attempts`);
    if (this.sum !== ACCOUNTS * OPENING_BALANCE) this.faults.push(`the sum is ${this.sum} after ${leg}`);
  }

  check(who: string, transfers: number): void {
    equal(this.faults.length, 0, `${who}: ${this.faults.slice(0, 10).join('\n')}`);
    equal(this.transfers, transfers, `transfers that ${who} saw; ${this.halves} halves`);
    equal(this.halves, 0, `halves that ${who} saw`);
    equal(this.sum, ACCOUNTS * OPENING_BALANCE);
  }
}

/** Resolves when it holds; these are programs of others, which say nothing of it. */
async function until(
  what: string,
  timeoutMs: number,
  condition: () => Promise<boolean> | boolean,
): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await condition()); ) {
    ok(Date.now() < end, `not within ${timeoutMs / 1_000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** One of the workers, started again whenever it ends. */
class Worker {
  #child: Child;
  #stopped = false;
  starts = 1;
  readonly #make: () => Child;
  /** What those said that ended by themselves. */
  readonly ends: string[] = [];

  constructor(make: () => Child) {
    this.#make = make;
    this.#child = make();
    this.#watch();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.kill();
    await this.#child.finished;
  }

  #watch(): void {
    this.#child.finished.then(({ code, stderr }) => {
      if (this.#stopped) return;
      if (code !== null) this.ends.push(`${stderr}`.trim());
      this.starts += 1;
      this.#child = this.#make();
      this.#watch();
    });
  }
}

/** A session that outlives its connections, as QoS 1 promises it: at least once. */
async function subscribe(hub: OwnHub, topic: string, ledger: Ledger): Promise<() => Promise<void>> {
  const client = await connectAsync(`mqtt://127.0.0.1:${hub.mqttPort}`, {
    protocolVersion: 5,
    clientId: `reader-of-${topic}`,
    clean: false,
    properties: { sessionExpiryInterval: 3_600 },
    reconnectPeriod: 200,
  });
  client.on('error', () => undefined);
  client.on('message', (_topic, payload) => ledger.see(`${payload}`, true));
  await client.subscribeAsync(topic, { qos: 1 });
  return () => client.endAsync();
}

async function lagOf(hub: OwnHub, name: string): Promise<number> {
  const url = `http://127.0.0.1:${hub.adminPort}/api/v1/groups/${name}/offsets`;
  // Its documented form.
  const answer = (await (await fetch(url)).json()) as { partitions?: { lag: number }[] };
  const lags = answer.partitions ?? [];
  return lags.length < PARTITIONS ? Number.POSITIVE_INFINITY : lags.reduce((sum, { lag }) => sum + lag, 0);
}

async function bank(hub: OwnHub): Promise<string> {
  const name = freshTopic('bank');
  for (const topic of [`${name}-requests`, `${name}-ledger`]) {
    const place = ['--bootstrap-server', `127.0.0.1:${hub.kafkaPort}`, '--topic', topic];
    await kafkaTool(TOPICS, [...place, '--create', '--partitions', `${PARTITIONS}`]);
  }
  const program = (mode: string, ...args: string[]): Child =>
    new Child(goProgram('bank'), [mode, `${hub.kafkaPort}`, name, ...args], { timeoutMs: 900_000 });
  const [read, delivered] = [new Ledger(), new Ledger()];
  const unsubscribe = await subscribe(hub, `${name}-ledger`, delivered);
  const reader = program('reader');
  const workers = Array.from(
    { length: WORKERS },
    (_none, index) => new Worker(() => program('worker', `${index}`)),
  );
  const requests = program('requests', `${SECONDS}`);
  const kills = await killing(hub, workers, requests);
  const { code, stdout } = await requests.finished;
  equal(code, 0, requests.output);
  const requested = Number(/^requested: (\d+)$/m.exec(`${stdout}`)?.[1]);
  await until('every request is done', 120_000, async () => (await lagOf(hub, name)) === 0);
  await until('the subscriber saw all', 120_000, () => delivered.transfers === requested);
  await until('the reader saw all', 60_000, () => legsOf(reader).length >= 2 * requested);
  for (const worker of workers) await worker.stop();
  reader.kill('SIGTERM');
  await reader.finished;
  await unsubscribe();
  for (const leg of legsOf(reader)) read.see(leg, false);
  read.check('the reader of committed records', requested);
  delivered.check('the MQTT subscriber', requested);
  await checkFromTheStart(hub, `${name}-ledger`, requested);
  const restarts = workers.reduce((sum, { starts }) => sum + starts - 1, 0);
  const { aborted } = await counted(hub, `${name}-ledger`, requested);
  return `${requested} transfers in ${SECONDS} s, ${aborted} legs aborted, ${kills.hub} kills of the hub and ${kills.workers} of workers, ${restarts} restarts of workers; MQTT delivered ${delivered.again} legs again`;
}

const legsOf = (reader: Child): string[] =>
  reader.output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('leg: '))
    .map((line) => line.slice('leg: '.length));

/** Kills a worker every two seconds or so, and the hub every fifteen, until the requests end. */
async function killing(
  hub: OwnHub,
  workers: readonly Worker[],
  requests: Child,
): Promise<{ hub: number; workers: number }> {
  const kills = { hub: 0, workers: 0 };
  let hubInMs = 10_000;
  while (!requests.ended) {
    const pauseMs = 500 + Math.random() * 3_000;
    hubInMs -= pauseMs;
    // When who dies is the point of it.
    await Promise.race([requests.finished, new Promise((resolve) => setTimeout(resolve, pauseMs))]);
    if (hubInMs < 0) {
      await hub.killAndStart();
      kills.hub += 1;
      hubInMs = 10_000 + Math.random() * 10_000;
    } else {
      workers[Math.floor(Math.random() * workers.length)]?.kill();
      kills.workers += 1;
    }
  }
  return kills;
}

/** A client of another kind, which reads it all at once. */
async function checkFromTheStart(hub: OwnHub, topic: string, requested: number): Promise<void> {
  const ledger = new Ledger();
  for (const leg of await readValues(hub.kafkaPort, topic, 'read_committed')) ledger.see(leg, false);
  ledger.check("Java's reader of committed records", requested);
}

async function counted(hub: OwnHub, topic: string, requested: number): Promise<{ aborted: number }> {
  const raw = await RawKafka.connect(hub.kafkaPort);
  let records = 0;
  for (let partition = 0; partition < PARTITIONS; partition++)
    for (let next = 0, end = 1; next < end; ) {
      const answer = await raw.fetch(topic, partition, next);
      records += answer.records.length;
      end = answer.highWatermark;
      // Markers at the end are no records.
      next = answer.records.length === 0 ? end : (answer.records.at(-1)?.offset ?? end) + 1;
    }
  raw.close();
  return { aborted: records - 2 * requested };
}

export const bankTransfer: InteropCase = {
  name: `a bank of ${WORKERS} transactional workers for ${SECONDS} s of random kills of workers and hub: the sum never changes for a reader of committed records or an MQTT subscriber`,
  needs: ['go', 'kafka-tools', 'java-clients'],
  timeoutMs: (SECONDS + 400) * 1_000,
  run: () => withOwnHub('[kafka]\ngroup_initial_rebalance_delay = "0s"\n', bank),
};
