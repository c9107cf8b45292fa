// A gate that lets few through at a time, and nobody while it is held.
import { describe, expect, it } from 'vitest';
import { Gate, nextTurn } from '../../storage/gate.ts';

describe('a gate', () => {
  it('that is held lets nobody through, then as many as ever, in the order of asking', async () => {
    const gate = new Gate(2);
    const release = gate.hold();
    const passed: number[] = [];
    const leave: (() => void)[] = [];
    for (let each = 0; each < 4; each++) {
      void gate.pass(async () => {
        passed.push(each);
        await new Promise<void>((resolve) => leave.push(resolve));
      });
    }
    await nextTurn();
    expect(passed).toEqual([]);
    release();
    await nextTurn();
    expect(passed).toEqual([0, 1]);
    leave[0]?.();
    await nextTurn();
    expect(passed).toEqual([0, 1, 2]);
  });

  it('is not held twice, nor while somebody is within, nor let go of twice: it would be wider or narrower ever after', async () => {
    const gate = new Gate(2);
    const release = gate.hold();
    expect(() => gate.hold()).toThrow('nobody is within');
    release();
    expect(() => release()).toThrow('is held');
    await gate.enter();
    expect(() => gate.hold()).toThrow('nobody is within');
    gate.leave();
    gate.hold()();
  });
});
