// Wills that wait: the delay, the session's end, a client that comes back, a hub that starts again (section 3.1.3.2.2).
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MqttFrontEnd } from '../../../protocols/mqtt/front-end.ts';
import { createMqttFrontEnd } from '../../../protocols/mqtt/front-end.ts';
import type { Principal } from '../../../protocols/port.ts';
import { FakeHub } from '../../helpers/fake-mqtt-hub.ts';
import type { RawMqtt } from '../../helpers/raw-mqtt.ts';
import { rawMqtt } from '../../helpers/raw-mqtt.ts';
import { connectPacket, eventually } from './front-end-fixture.ts';

interface Life {
  readonly delaySeconds?: number;
  readonly expirySeconds?: number;
  readonly clean?: boolean;
  readonly withWill?: boolean;
  readonly retain?: boolean;
}

class Hub {
  readonly hub = new FakeHub();
  frontEnd: MqttFrontEnd = createMqttFrontEnd(this.hub);
  #port = 0;

  static async started(): Promise<Hub> {
    const started = new Hub();
    started.hub.topics.make('wills');
    await started.start();
    onTestFinished(() => started.frontEnd.close());
    return started;
  }

  /** Again, after a crash or a stop. */
  async start(): Promise<void> {
    const hooks = { authenticate: () => ({ principal: 'alice' }) };
    this.frontEnd = createMqttFrontEnd(this.hub, {}, hooks);
    const { frontEnd } = this;
    onTestFinished(() => frontEnd.close());
    const listener = { name: 'mqtt', host: '127.0.0.1', port: 0, connectionsMax: 100 };
    this.#port = (await frontEnd.listen(listener)).port;
  }

  async device(life: Life = {}): Promise<RawMqtt> {
    const { delaySeconds = 10, expirySeconds = 100, clean = false, withWill = true, retain = false } = life;
    const client = await rawMqtt(this.#port, 5);
    const properties = { willDelayInterval: delaySeconds };
    const will = { topic: 'wills/device', payload: Buffer.from('gone'), qos: 1 as const, retain, properties };
    client.send(
      connectPacket(5, {
        clientId: 'device',
        clean,
        properties: { sessionExpiryInterval: expirySeconds },
        ...(withWill ? { will } : {}),
      }),
    );
    await client.expect('connack');
    return client;
  }

  /** The connection breaks; what is left of it is on disk. */
  async lose(client: RawMqtt): Promise<void> {
    client.socket.destroy();
    await this.atRest();
  }

  async atRest(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async pass(seconds: number): Promise<void> {
    this.hub.clock.advance(seconds * 1000);
    await this.atRest();
  }

  get published(): number {
    return this.hub.topics.partition('wills', 0)!.logEndOffset;
  }
}

describe('a will with a delay', () => {
  it('is published when the delay has passed, once', async () => {
    const hub = await Hub.started();
    await hub.lose(await hub.device());
    await hub.pass(9);
    expect(hub.published).toBe(0);
    await hub.pass(1);
    expect(hub.published).toBe(1);
    await hub.pass(1000);
    expect(hub.published).toBe(1);
  });

  it('is not when its client comes back in time [MQTT-3.1.3-9] [FAULTS 39]', async () => {
    const hub = await Hub.started();
    await hub.lose(await hub.device());
    await hub.pass(9);
    await hub.device({ withWill: false });
    await hub.pass(50);
    expect(hub.published).toBe(0);
  });

  it('begins anew with the next connection that breaks', async () => {
    const hub = await Hub.started();
    await hub.lose(await hub.device());
    await hub.pass(9);
    await hub.lose(await hub.device());
    await hub.pass(9);
    expect(hub.published).toBe(0);
    await hub.pass(1);
    expect(hub.published).toBe(1);
  });

  it.each([
    ['has no longer to live', { delaySeconds: 10, expirySeconds: 5 }, 5],
    ['ends with its connection', { delaySeconds: 10, expirySeconds: 0 }, 0],
  ])('is published when the session ends, if that %s [FAULTS 39]', async (_what, life, afterSeconds) => {
    const hub = await Hub.started();
    await hub.lose(await hub.device(life));
    if (afterSeconds > 0) {
      await hub.pass(afterSeconds - 1);
      expect(hub.published).toBe(0);
      await hub.pass(1);
    }
    await eventually(() => hub.published === 1);
    await hub.pass(100);
    expect(hub.published).toBe(1);
  });

  it('is not published when a takeover goes on with the session [FAULTS 38]', async () => {
    const hub = await Hub.started();
    const first = await hub.device();
    await hub.device({ withWill: false });
    expect(await first.expect('disconnect')).toMatchObject({ reasonCode: 0x8e });
    await hub.pass(50);
    expect(hub.published).toBe(0);
  });

  it('is when a takeover begins anew: the session has ended', async () => {
    const hub = await Hub.started();
    await hub.device();
    await hub.device({ clean: true, withWill: false });
    await eventually(() => hub.published === 1);
    await hub.pass(50);
    expect(hub.published).toBe(1);
  });

  it('is not published after DISCONNECT, and is after DISCONNECT with will', async () => {
    const hub = await Hub.started();
    const first = await hub.device();
    first.send({ cmd: 'disconnect' });
    await first.end();
    await hub.pass(50);
    expect(hub.published).toBe(0);
    const second = await hub.device();
    second.send({ cmd: 'disconnect', reasonCode: 4 });
    await second.end();
    await hub.atRest();
    await hub.pass(10);
    expect(hub.published).toBe(1);
  });

  it('waits across a stop of the hub', async () => {
    const hub = await Hub.started();
    await hub.lose(await hub.device());
    await hub.pass(4);
    await hub.frontEnd.close();
    await hub.start();
    await hub.pass(5);
    expect(hub.published).toBe(0);
    await hub.pass(1);
    expect(hub.published).toBe(1);
  });

  it('is published after a crash of the hub, counted from the next start', async () => {
    const hub = await Hub.started();
    await hub.device();
    await hub.start();
    await hub.pass(9);
    expect(hub.published).toBe(0);
    await hub.pass(1);
    expect(hub.published).toBe(1);
  });

  it('may be retained', async () => {
    const hub = await Hub.started();
    await hub.lose(await hub.device({ retain: true }));
    await hub.pass(10);
    expect(hub.frontEnd.retained.count).toBe(1);
  });
});

it('a will without a delay is published at once, and not again by the next start', async () => {
  const hub = await Hub.started();
  await hub.lose(await hub.device({ delaySeconds: 0 }));
  await eventually(() => hub.published === 1);
  await hub.atRest();
  await hub.start();
  await hub.pass(1000);
  expect(hub.published).toBe(1);
});

it('of a client that was connected when the hub crashed, a will without a delay is published by the next start', async () => {
  const hub = await Hub.started();
  await hub.device({ delaySeconds: 0 });
  await hub.start();
  await hub.pass(0);
  expect(hub.published).toBe(1);
});

it('of a client that is away, a will is still its own after a start: published as who has left it', async () => {
  const hub = await Hub.started();
  await hub.lose(await hub.device());
  await hub.frontEnd.close();
  await hub.start();
  const asked: Principal[] = [];
  const { access } = hub.hub;
  Object.assign(access, {
    allows: (principal: Principal) => {
      asked.push(principal);
      return true;
    },
  });
  await hub.pass(10);
  expect(hub.published).toBe(1);
  expect(asked).toEqual([{ name: 'alice', listener: 'mqtt', remoteAddress: '127.0.0.1' }]);
});
