// How far a log is compacted and since when: which tombstones may go.
import { describe, expect, it } from 'vitest';
import {
  afterRound,
  NOTHING_COMPACTED,
  readCompactionCheckpoint,
  tombstonesExpireBelow,
  writeCompactionCheckpoint,
} from '../../storage/compaction-checkpoint.ts';
import { COMPACTION_ROUNDS_MAX } from '../../storage/limits.ts';
import { FaultyFileSystem } from '../helpers/faulty-file-system.ts';

const rounds = [
  { endOffset: 10, cleanedAtMs: 1000 },
  { endOffset: 20, cleanedAtMs: 2000 },
];

describe('tombstones', () => {
  it('expire with the first round that covered them', () => {
    expect(tombstonesExpireBelow(rounds, 1999, 1000)).toBe(0);
    expect(tombstonesExpireBelow(rounds, 2000, 1000)).toBe(10);
    expect(tombstonesExpireBelow(rounds, 3000, 1000)).toBe(20);
    expect(tombstonesExpireBelow([], 3000, 0)).toBe(0);
  });

  it('wait longer when the clock goes backwards', () => {
    expect(tombstonesExpireBelow(rounds, 500, 0)).toBe(0);
    const after = afterRound({ cleanedOffset: 20, rounds }, 30, 500, 0, true);
    expect(after.rounds.at(-1)).toEqual({ endOffset: 30, cleanedAtMs: 2000 });
  });
});

describe('a round', () => {
  it('is remembered for the tombstones that it left, until they are gone', () => {
    const before = { cleanedOffset: 20, rounds };
    expect(afterRound(before, 30, 3000, 10, true)).toEqual({
      cleanedOffset: 30,
      rounds: [rounds[1], { endOffset: 30, cleanedAtMs: 3000 }],
    });
    expect(afterRound(before, 30, 3000, 20, false)).toEqual({ cleanedOffset: 30, rounds: [] });
  });

  it('of which there are too many makes the oldest tombstones wait with the next', () => {
    let checkpoint = NOTHING_COMPACTED;
    for (let round = 1; round <= COMPACTION_ROUNDS_MAX + 3; round++) {
      checkpoint = afterRound(checkpoint, 10 * round, 100 * round, 0, true);
    }
    expect(checkpoint.rounds.length).toBe(COMPACTION_ROUNDS_MAX);
    expect(tombstonesExpireBelow(checkpoint.rounds, 399, 0)).toBe(0);
    expect(tombstonesExpireBelow(checkpoint.rounds, 400, 0)).toBe(40);
  });
});

describe('the file', () => {
  it('says what was written', async () => {
    const fileSystem = new FaultyFileSystem(['/log']).process();
    expect(await readCompactionCheckpoint(fileSystem, '/log')).toEqual(NOTHING_COMPACTED);
    const checkpoint = { cleanedOffset: 25, rounds };
    await writeCompactionCheckpoint(fileSystem, '/log', checkpoint);
    expect(await readCompactionCheckpoint(fileSystem, '/log')).toEqual(checkpoint);
  });

  it('says nothing when it makes no sense', async () => {
    for (const text of [
      '',
      '{',
      '[]',
      '{"cleanedOffset":-1,"rounds":[]}',
      '{"cleanedOffset":5}',
      '{"cleanedOffset":5,"rounds":[[6,1]]}',
      '{"cleanedOffset":5,"rounds":[[4,1],[4,2]]}',
      '{"cleanedOffset":5,"rounds":[[3,2],[4,1]]}',
      '{"cleanedOffset":5,"rounds":[7]}',
    ]) {
      const files = new FaultyFileSystem(['/log']);
      files.overwrite('/log/compaction-checkpoint.json', Buffer.from(text));
      expect(await readCompactionCheckpoint(files.process(), '/log')).toEqual(NOTHING_COMPACTED);
    }
  });
});
