import { elapsedMs, waitFor } from '@waymark/test-kit';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { JobAdder } from '../../src/queue/job-adder.js';
import { pause } from '../../src/redis/deadline.js';
import type { Load, RedisHealth } from '../../src/redis/redis-health.js';
import { createSpoolReplayer } from '../../src/spool/replayer.js';
import type { Spool } from '../../src/spool/spool.js';
import { silentLogger } from '../silent-logger.js';

const SOME_ROUNDS = 10;

/**
 * A replayer whose spool always or never has entries, and which tries to send them in short rounds, on a clock of the test.
 *
 * @param run what Redis does with a transaction
 */
function aReplayer(run: () => Promise<unknown[]> = async () => [[]], hasEntries = true) {
  const state: { load: Load; share: number; nowMs: number } = { load: 'normal', share: 0.5, nowMs: 1_000_000 };
  let rounds = 0;
  let replays = 0;
  const spool = {
    hasEntries() {
      rounds += 1;
      return hasEntries;
    },
    waitForEntries: (milliseconds: number) => pause(milliseconds),
    async replay(send: (entries: readonly never[]) => Promise<void>) {
      replays += 1;
      await send([]);
    },
  };
  const health = {
    ...{ isAnswering: () => true, refresh: async () => undefined },
    ...{ load: () => state.load, memoryShare: () => state.share },
  };
  const adder = { transaction: async () => ({ eval: () => undefined }), run };
  const lines: object[] = [];
  const logger = { ...silentLogger, warn: (context: object) => void lines.push(context) };
  const replayer = createSpoolReplayer({
    ...{ spool: spool as unknown as Spool, health: health as unknown as RedisHealth },
    ...{ adder: adder as unknown as JobAdder, logger, now: () => state.nowMs },
    ...{ intervalMs: 1, takeOverIntervalMs: hasEntries ? 60_000 : 1 },
  });
  /** Whether any of some rounds replays, once `change` applies. */
  const replaysAfter = async (change: Partial<typeof state>): Promise<boolean> => {
    Object.assign(state, change);
    const before = replays;
    const until = rounds + SOME_ROUNDS;
    await waitFor(() => rounds >= until, { what: 'some rounds' });
    return replays > before;
  };
  return { replayer, state, lines, replaysAfter };
}

it('once Redis had no room, begins again below 80 % of its memory, and then goes on up to the mark', async () => {
  const { replayer, replaysAfter } = aReplayer();
  expect(await replaysAfter({ load: 'shed-track', share: 0.84 })).toBe(true);
  expect(await replaysAfter({ load: 'spool-clicks', share: 0.86 })).toBe(false);
  expect(await replaysAfter({ load: 'shed-track', share: 0.84 })).toBe(false);
  expect(await replaysAfter({ share: 0.79 })).toBe(true);
  expect(await replaysAfter({ share: 0.84 })).toBe(true);
  await replayer.close();
});

it('begins again after five seconds below the mark, as Redis may not go below 80 % for long', async () => {
  const { replayer, state, replaysAfter } = aReplayer();
  expect(await replaysAfter({ load: 'spool-clicks', share: 0.86 })).toBe(false);
  expect(await replaysAfter({ nowMs: state.nowMs + 60_000 })).toBe(false);
  expect(await replaysAfter({ load: 'shed-track', share: 0.84, nowMs: state.nowMs + 4_000 })).toBe(false);
  expect(await replaysAfter({ nowMs: state.nowMs + 6_000 })).toBe(true);
  await replayer.close();
});

it('logs one line in five seconds while Redis refuses the entries', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { replayer, lines, replaysAfter } = aReplayer(async () => {
    throw new Error('NOREPLICAS');
  });
  expect(await replaysAfter({})).toBe(true);
  expect(lines).toHaveLength(1);
  vi.advanceTimersByTime(5_001);
  expect(await replaysAfter({})).toBe(true);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatchObject({ err: { message: 'NOREPLICAS' }, suppressedLines: expect.any(Number) });
  await replayer.close();
});

it('closes after three seconds, however long the replay in progress takes', async () => {
  let isReplaying = false;
  const { replayer } = aReplayer(() => {
    isReplaying = true;
    return new Promise(() => undefined);
  });
  await waitFor(() => isReplaying, { what: 'a replay that does not end' });
  expect(await elapsedMs(() => replayer.close())).toBeLessThan(10_000);
});

it('looks for files of dead processes also after the clock was set back', async () => {
  const { replayer, state, replaysAfter } = aReplayer(undefined, false);
  expect(await replaysAfter({})).toBe(true);
  expect(await replaysAfter({ nowMs: state.nowMs - 3_600_000 })).toBe(true);
  await replayer.close();
});
