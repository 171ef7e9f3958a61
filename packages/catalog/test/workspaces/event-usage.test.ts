import { randomInt } from 'node:crypto';
import { formatResourceId } from '@waymark/contract';
import { aClick, createTestDatabase, insertClicks, type TestDatabase } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createEventUsage, type EventUsage } from '../../src/workspaces/event-usage.js';

const FAR = 5_000_000;

let database: TestDatabase;
let nowMs = Date.UTC(2026, 10, 21, 14, 30);
let usage: EventUsage;
let workspace: string;

beforeAll(async () => {
  database = await createTestDatabase();
  usage = createEventUsage(database.client, {}, () => nowMs);
});
beforeEach(() => {
  workspace = String(randomInt(2 ** 40));
});
afterAll(() => database.drop());

const clicks = (count: number) =>
  insertClicks(
    database.client,
    Array.from({ length: count }, () => aClick({ workspaceId: workspace, timestampMs: nowMs })),
  );
const used = (limit?: number) => usage.thisMonth(formatResourceId('workspace', workspace), limit);

describe('the count of events in a month', () => {
  it('is read again after a second when it is near the limit', async () => {
    await clicks(2);
    expect(await used(3)).toBe(2);
    await clicks(4);
    nowMs += 900;
    expect(await used(3)).toBe(2);
    nowMs += 101;
    expect(await used(3)).toBe(6);
  });

  it('is read again after a second when it is exactly the limit, which the next event exceeds', async () => {
    await clicks(3);
    expect(await used(3)).toBe(3);
    await clicks(1);
    nowMs += 1_001;
    expect(await used(3)).toBe(4);
  });

  it('is read again after half a minute when it is far from the limit or above it', async () => {
    await clicks(2);
    for (const limit of [undefined, FAR, 1]) expect(await used(limit)).toBe(2);
    await clicks(4);
    nowMs += 29_000;
    for (const limit of [undefined, FAR, 1]) expect(await used(limit)).toBe(2);
    nowMs += 1_001;
    expect(await used(FAR)).toBe(6);
  });

  it('is never negative, although erased imported events are still subtracted', async () => {
    await clicks(2);
    await database.client.insert({
      ...{ table: 'imported_counts', format: 'JSONCompactEachRow' },
      values: [[workspace, '2026-11-01', 'a batch', 3]],
    });
    expect(await used()).toBe(0);
  });

  it('begins anew with the month', async () => {
    const beforeMs = nowMs;
    nowMs = Date.UTC(2026, 11, 1) - 1;
    await clicks(2);
    expect(await used()).toBe(2);
    nowMs += 1;
    expect(await used()).toBe(0);
    nowMs = beforeMs;
  });

  it('near the limit is read once for concurrent callers', async () => {
    await clicks(1);
    await used(3);
    await clicks(1);
    nowMs += 1_001;
    const reads = vi.spyOn(database.client, 'rows');
    expect(await Promise.all(Array.from({ length: 50 }, () => used(3)))).toEqual(Array(50).fill(2));
    expect(reads).toHaveBeenCalledTimes(1);
  });
});
