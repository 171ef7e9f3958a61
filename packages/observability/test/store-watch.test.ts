import { expect, it } from 'vitest';
import { createStoreWatch } from '../src/components/store-watch.js';

// Times and answers are given, because what matters are moments that a real store seldom hits.

function aWatch() {
  let nowMs = 1_000_000;
  let uptimeSeconds: number | undefined;
  const watch = createStoreWatch({
    name: 'store',
    now: () => nowMs,
    async check() {
      if (uptimeSeconds === undefined) throw new Error('refused');
      return { uptimeSeconds, detail: 'Store 1' };
    },
  });
  return {
    /** The state after a look so many milliseconds later; undefined = the store does not answer. */
    async after(milliseconds: number, uptime: number | undefined) {
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

it('a store that hung is the same one, however uptimes are rounded', async () => {
  const { after } = aWatch();
  expect(await after(0, 100)).toMatchObject({ state: 'up', starts: 1 });
  expect(await after(2900, undefined)).toMatchObject({ state: 'down', starts: 1 });
  expect(await after(100, 102)).toMatchObject({ state: 'up', starts: 1 });
});
