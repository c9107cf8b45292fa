// Listeners of the emitter that throw: nobody else is kept from a message by them, and whoever emitted it is told.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEmitter } from '../../../src/aedes/aedes-store.ts';
import type { EmittedMessage, LogEmitter } from '../../../src/aedes/log-emitter.ts';
import { type AedesFixture, openAedesFixture } from './aedes-fixture.ts';

let fixture: AedesFixture;
beforeAll(async () => {
  fixture = await openAedesFixture();
});
afterAll(() => fixture.close());

const emit = (mq: LogEmitter, message: EmittedMessage): Promise<Error | undefined> =>
  new Promise((resolve) => mq.emit(message, resolve));

it.each(['thrown/a', '$thrown/a'])('is told to who emitted %s, and others hear of it', async (topic) => {
  const mq = openEmitter(fixture, { concurrency: 1 });
  const heard: unknown[] = [];
  mq.on('+/a', () => {
    throw new Error('mine');
  });
  mq.on(topic, ({ payload }, done) => {
    heard.push(payload);
    done();
  });
  const told = await Promise.all(['1', '2'].map((payload) => emit(mq, { topic, payload })));
  expect(told.map((error) => error?.message)).toEqual(['mine', 'mine']);
  expect(heard).toEqual(['1', '2']);
  expect([mq.current, mq.length]).toEqual([0, 0]);
  await new Promise<void>((resolve) => mq.close(resolve));
});

it('what cannot be stored is told, and the emitter goes on', async () => {
  const mq = openEmitter(fixture);
  const circular: { self?: unknown } = {};
  circular.self = circular;
  expect(await emit(mq, { topic: 'circular', payload: circular })).toBeInstanceOf(TypeError);
  expect(await emit(mq, { topic: 'circular', payload: 'x' })).toBeUndefined();
  await new Promise<void>((resolve) => mq.close(resolve));
});
