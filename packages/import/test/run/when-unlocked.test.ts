import { LockedError } from '@waymark/catalog';
import { ApiError } from '@waymark/contract';
import { expect, it } from 'vitest';
import { whenUnlocked } from '../../src/run/when-unlocked.js';

it('repeats what another process holds up by its lock, and nothing else', async () => {
  let calls = 0;
  const work = async () => {
    calls += 1;
    if (calls < 3) throw new LockedError('a name');
    return 'made';
  };
  expect([await whenUnlocked(work), calls]).toEqual(['made', 3]);

  const refused = async () => {
    calls += 1;
    throw new ApiError('conflict', 'taken');
  };
  await expect(whenUnlocked(refused)).rejects.toThrow('taken');
  expect(calls).toBe(4);
});
