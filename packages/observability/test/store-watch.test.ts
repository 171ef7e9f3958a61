import { expect, it } from 'vitest';
import { createStoreWatch } from '../src/components/store-watch.js';

// Times and answers are given, because what matters are moments that a real store seldom hits.

function aWatch() {
  let nowMs = 1_000_000;
  let uptimeSeconds: number | 'busy' | undefined;
  let wasUptimeRead = false;
  const watch = createStoreWatch({
    name: 'store',
    now: () => nowMs,
    async check(_limitMs, withUptime) {
      wasUptimeRead = withUptime;
      if (uptimeSeconds === undefined) throw new Error('refused');
      return withUptime && uptimeSeconds !== 'busy'
        ? { uptimeSeconds, detail: 'Store 1' }
        : { uptimeSeconds: undefined, detail: undefined };
    },
  });
  return {
    /** Whether the last poll read the uptime of the store. */
    wasUptimeRead: () => wasUptimeRead,
    /** The state after a poll so many milliseconds later. @param uptime undefined = no answer; busy = an answer without uptime */
    async after(milliseconds: number, uptime: number | 'busy' | undefined) {
      nowMs += milliseconds;
      uptimeSeconds = uptime;
      await watch.poll();
      return watch.state();
    },
  };
}

it('a store that is killed within its first two seconds, and is back as soon, was restarted', async () => {
  const { after } = aWatch();
  expect(await after(0, 0)).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(500, undefined)).toMatchObject({ state: 'down', detail: 'refused' });
  expect(await after(600, 0)).toMatchObject({ state: 'restarted', starts: 2 });
});

it('a store that was killed, and is too busy to return its uptime when it is back, was restarted', async () => {
  const { after } = aWatch();
  expect(await after(0, 1)).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(500, undefined)).toMatchObject({ state: 'down' });
  expect(await after(600, 'busy')).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(1_000, 1)).toMatchObject({ state: 'restarted', starts: 2 });
});

it('a store that hung is the same one, however uptimes are rounded', async () => {
  const { after } = aWatch();
  expect(await after(0, 100)).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(2900, undefined)).toMatchObject({ state: 'down', starts: 1 });
  expect(await after(100, 102)).toMatchObject({ state: 'up', starts: 1 });
});

it('the uptime of a store that answers is read now and then, and at once after it did not answer', async () => {
  const { after, wasUptimeRead } = aWatch();
  const reads: boolean[] = [];
  for (const [milliseconds, uptime] of [
    [0, 100],
    [4000, 104],
    [4000, 108],
    [4000, 112],
    [1000, undefined],
    [100, 113],
  ] as const) {
    await after(milliseconds, uptime);
    reads.push(wasUptimeRead());
  }
  expect(reads).toEqual([true, false, true, false, false, true]);
  expect(await after(4000, 117)).toMatchObject({ state: 'up', starts: 1, detail: 'Store 1' });
});

it('a restart between two polls is detected when the uptime is read next', async () => {
  const { after } = aWatch();
  await after(0, 100);
  expect(await after(4000, 2)).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(4000, 6)).toMatchObject({ state: 'restarted', starts: 2 });
});
