import { keyDigest } from '@waymark/clickhouse';
import { waitFor } from '@waymark/test-kit';
import { afterEach, expect, it, vi } from 'vitest';
import { createStoredKeys } from '../../src/track/conversions/stored-keys.js';

const HOUR_MS = 3_600_000;
afterEach(() => vi.restoreAllMocks());

/** Stored keys of a workspace that has one key, on a clock and a connection that the test controls. */
async function loadedFilter() {
  const state = { nowMs: Date.UTC(2026, 0, 1), connectionsLost: 0 };
  const keys = createStoredKeys({
    ...{ kind: 'customer', claimMs: 2 * HOUR_MS, logger: { warn: () => undefined }, now: () => state.nowMs },
    producer: {
      openFilterMark: async () => ({ key: 'mark', value: 'f:mark', ttlMs: HOUR_MS }),
      connectionsLost: () => state.connectionsLost,
      oldestQueuedMs: async () => undefined,
    },
    read: async () => [keyDigest('stored')],
  });
  await waitFor(async () => keys.filterOf('ws_1') !== undefined, { what: 'a filter' });
  return { state, keys };
}

it('a filter lacks only keys that were not stored', async () => {
  const { keys } = await loadedFilter();
  expect(keys.filterOf('ws_1')?.lacks('stored')).toBe(false);
  expect(keys.filterOf('ws_1')?.lacks('another')).toBe(true);
  expect(keys.filterOf('ws_2')).toBeUndefined();
});

it('a filter expires before the claims of events that were queued when it was read', async () => {
  const { state, keys } = await loadedFilter();
  state.nowMs += 2 * HOUR_MS - 11 * 60_000;
  expect(keys.filterOf('ws_1')).toBeDefined();
  state.nowMs += 60_000;
  expect(keys.filterOf('ws_1')).toBeUndefined();
});

it('a filter expires as early although the clock was set back since it was read', async () => {
  const { state, keys } = await loadedFilter();
  state.nowMs -= HOUR_MS;
  const uptimeMs = performance.now();
  const uptime = vi.spyOn(performance, 'now');
  uptime.mockReturnValue(uptimeMs + 2 * HOUR_MS - 11 * 60_000);
  state.nowMs += 2 * HOUR_MS - 11 * 60_000;
  expect(keys.filterOf('ws_1')).toBeDefined();
  uptime.mockReturnValue(uptimeMs + 2 * HOUR_MS - 10 * 60_000);
  state.nowMs += 60_000;
  expect(keys.filterOf('ws_1')).toBeUndefined();
});

it('a filter from before a lost connection to Redis is not used', async () => {
  const { state, keys } = await loadedFilter();
  state.connectionsLost += 1;
  expect(keys.filterOf('ws_1')).toBeUndefined();
});
