// What is written to a socket: one write a turn, every byte in its order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Sink } from '../../../protocols/mqtt/output.ts';
import { FlushQueue, Output, OutputBuffers } from '../../../protocols/mqtt/output.ts';

/** A socket that keeps what it is given, and says that it is written when told. */
class FakeSink implements Sink {
  readonly writes: Buffer[] = [];
  readonly #callbacks: (() => void)[] = [];
  corked = 0;

  get writableLength(): number {
    return 0;
  }

  write(chunk: Buffer, written: () => void): boolean {
    // The bytes themselves: whoever changes them later is found out.
    this.writes.push(chunk);
    this.#callbacks.push(written);
    return true;
  }

  cork(): void {
    this.corked++;
  }

  uncork(): void {
    this.corked--;
  }

  writtenAll(): void {
    for (const written of this.#callbacks.splice(0)) written();
  }

  get text(): string {
    return Buffer.concat(this.writes).toString('latin1');
  }
}

function outputOf() {
  const sink = new FakeSink();
  const flushes: (() => void)[] = [];
  const buffers = new OutputBuffers();
  const output = new Output(sink, buffers, new FlushQueue((flush) => flushes.push(flush)));
  const endTurn = () => {
    for (const flush of flushes.splice(0)) flush();
  };
  return { sink, output, endTurn, buffers };
}

describe('the output of a connection', () => {
  it('is one write in a turn of the event loop', () => {
    const { sink, output, endTurn } = outputOf();
    for (const text of ['a', 'b', 'c']) output.write(Buffer.from(text));
    expect(sink.writes).toHaveLength(0);
    endTurn();
    expect(sink.writes).toHaveLength(1);
    expect(sink.text).toBe('abc');
  });

  it('refers to a shared packet that is alone, and copies it when it is not', () => {
    const { sink, output, endTurn } = outputOf();
    const shared = Buffer.from('shared');
    output.writeShared(shared);
    endTurn();
    expect(sink.writes[0]).toBe(shared);
    output.writeShared(shared);
    output.write(Buffer.from('!'));
    endTurn();
    expect(sink.writes).toHaveLength(2);
    expect(sink.text).toBe('sharedshared!');
  });

  it('does not wait for the end of the turn when there is much', () => {
    const { sink, output } = outputOf();
    for (let written = 0; written < 100_000; written += 1000) output.write(Buffer.alloc(1000, 'x'));
    expect(sink.writes.length).toBeGreaterThan(0);
    expect(output.pendingBytes).toBeLessThan(65_536);
  });

  it('says nothing more once it is closed, and holds nothing', () => {
    const { sink, output, endTurn } = outputOf();
    output.write(Buffer.from('before'));
    output.close();
    for (let written = 0; written < 300_000; written += 1000) output.write(Buffer.alloc(1000));
    output.writeShared(Buffer.from('after'));
    endTurn();
    expect(sink.writes).toHaveLength(0);
    expect(output.pendingBytes).toBeLessThan(65_536);
  });

  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('write' as const), length: fc.nat(3000) }),
      fc.record({ kind: fc.constant('shared' as const), length: fc.integer({ min: 1, max: 50_000 }) }),
      fc.record({ kind: fc.constant('reference' as const), length: fc.integer({ min: 1, max: 80_000 }) }),
      fc.record({ kind: fc.constant('range' as const), length: fc.integer({ min: 1, max: 1500 }) }),
      fc.constant({ kind: 'turn' as const, length: 0 }),
      fc.constant({ kind: 'written' as const, length: 0 }),
    ),
    { maxLength: 60 },
  );

  it('keeps every byte in its order, whatever is written how, and reuses no buffer too early', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const { sink, output, endTurn } = outputOf();
        let expected = '';
        let seen = '';
        // The memory of a range is used again for the next one.
        const range = Buffer.alloc(64 * 1024);
        let rangeNumber = 0;
        const writeRange = (length: number) => {
          for (let at = 0; at < range.length; at += 4) range.writeUInt32BE(at * 16 + rangeNumber, at);
          rangeNumber++;
          const place = { payload: range, rangeBytes: range, rangeEnd: 60_000, rangeNumber };
          // The last ones lie behind the range.
          for (let start = 0; start + length <= range.length; start += length + 500) {
            const at = output.reserve(length);
            output.copy({ ...place, payloadStart: start, payloadEnd: start + length }, at);
            output.commit(length);
            expected += range.toString('latin1', start, start + length);
          }
        };
        // What the socket was given is looked at only when it says that it has been written.
        const look = () => {
          seen += sink.text;
          sink.writes.length = 0;
          sink.writtenAll();
        };
        for (const [index, { kind, length }] of sequence.entries()) {
          if (kind === 'turn') endTurn();
          if (kind === 'written') look();
          if (kind === 'range') writeRange(length);
          if (kind === 'turn' || kind === 'written' || kind === 'range') continue;
          const bytes = Buffer.alloc(length, 97 + (index % 26));
          expected += bytes.toString('latin1');
          if (kind === 'write') output.write(bytes);
          else if (kind === 'shared') output.writeShared(bytes);
          else output.writeReference(bytes);
        }
        endTurn();
        look();
        expect(seen.length).toBe(expected.length);
        expect(seen === expected).toBe(true);
        expect(sink.corked).toBe(0);
      }),
    );
  });
});
