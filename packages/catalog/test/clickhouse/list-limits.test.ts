import type { ClickHouseClient } from '@waymark/clickhouse';
import { findQueueLimits } from '@waymark/test-kit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createListReads } from '../../src/clickhouse/list-reads.js';

it('six lists run at once, four of one workspace; a hundred of it wait, and four hundred of all, for five seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let task = async () => {};
  const rows = async () => {
    await task();
    return [];
  };
  const readList = createListReads({ rows } as unknown as ClickHouseClient);
  const run = (owner: string, read: () => Promise<void>) => {
    task = read;
    return readList({ query: 'SELECT 1', parameters: { workspace: String(Number(owner)) } });
  };
  expect(await findQueueLimits(run, (ms) => void vi.advanceTimersByTime(ms), 5000)).toEqual({
    ...{ runningOfOne: 4, running: 6, waitingOfOne: 100, waiting: 400, refused: [0, 400] },
  });
});
