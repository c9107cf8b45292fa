// `POLYLOG__…_FILE`: a value from a file, which is shown nowhere.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { printConfig } from '../../../src/config/print.ts';
import { complaints, LISTENER, sound } from './fixtures.ts';

function secretFile(content: string): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'polylog-secret-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'secret');
  writeFileSync(file, content);
  return file;
}

it("is read without the line's end of its last line", () => {
  const environment = { POLYLOG__SERVER__RACK_FILE: secretFile('a secret rack\n') };
  expect(sound(LISTENER, { environment }).broker.rack).toBe('a secret rack');
});

it('has the type of its key, and an element of an array has its name', () => {
  const environment = {
    POLYLOG__MQTT__RECEIVE_MAXIMUM_FILE: secretFile('7'),
    POLYLOG__LISTENER__kafka__BIND_FILE: secretFile('127.0.0.1:5\r\n'),
  };
  const { broker } = sound(LISTENER, { environment });
  expect([broker.mqtt.receiveMaximum, broker.listeners[0]?.port]).toEqual([7, 5]);
});

it('is not shown, and neither is what is wrong with it', () => {
  const file = secretFile('hunter2');
  const shown = printConfig(sound(LISTENER, { environment: { POLYLOG__SERVER__RACK_FILE: file } }).written);
  expect(shown).toMatch(/^rack = "\(a secret\)" +# POLYLOG__SERVER__RACK_FILE$/m);
  expect(shown).not.toContain('hunter2');
  const wrong = complaints(LISTENER, { environment: { POLYLOG__MQTT__RECEIVE_MAXIMUM_FILE: file } });
  expect(wrong).toEqual([
    `POLYLOG__MQTT__RECEIVE_MAXIMUM_FILE: mqtt.receive_maximum: ${file} does not hold what this key takes`,
  ]);
});

it.each([
  ['a file that is not there', '/nowhere/secret', /names a file that cannot be read: ENOENT/],
  ['a directory', tmpdir(), /names a file that cannot be read: EISDIR/],
])('that names %s stops the start', (_, file, message) => {
  expect(complaints(LISTENER, { environment: { POLYLOG__SERVER__RACK_FILE: file } })).toEqual([
    expect.stringMatching(message),
  ]);
});

it('beside a variable for the same key stops the start', () => {
  const environment = { POLYLOG__SERVER__RACK: 'a', POLYLOG__SERVER__RACK_FILE: secretFile('b') };
  expect(complaints(LISTENER, { environment })).toEqual([
    'POLYLOG__SERVER__RACK_FILE: says the same key once more (unset it or POLYLOG__SERVER__RACK)',
  ]);
});

it('of a key that nobody knows stops the start', () => {
  const [complaint] = complaints(LISTENER, { environment: { POLYLOG__SERVER__ROCK_FILE: secretFile('b') } });
  expect(complaint).toContain('did you mean POLYLOG__SERVER__RACK?');
});

it('gives way to a flag', () => {
  const environment = { POLYLOG__SERVER__RACK_FILE: secretFile('b') };
  expect(sound(LISTENER, { environment, settings: ['server.rack=c'] }).broker.rack).toBe('c');
});
